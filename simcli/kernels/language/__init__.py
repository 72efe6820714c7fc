"""The language of device code: Taichi, as simcli uses it. Everything else imports it from here, as `ti`.

In: Python functions. Out: kernels. Never found here: mechanics, memory of worlds.

    internals    all that is taken from below Taichi's public interface, by name
    source_text  how Taichi finds the text of a function: without a search through all modules
    tracing      how it makes a program of that text
    numbers      numbers of objects are read from memory, so that scenes share kernels
    procedures   functions that are compiled once and called
    rolling      loops that stay loops
    vectors      packs as vectors of the processor
    compilations which kernels were compiled, and which came from a folder of kernels
"""

from simcli.kernels.language.internals import ti

from simcli.kernels.language import source_text, tracing  # noqa: F401  (before the others)  # isort: skip

__all__ = ["ti"]
