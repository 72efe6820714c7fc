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

import os

# Before Taichi is imported by any file: its banner goes to stdout, which is for data.
os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
os.environ.setdefault("TI_ENABLE_PYBUF", "0")  # so does a remark when stdout is wrapped
# It asks its makers' server for a newer version, once a day, and names itself to it; a new version is of no use to us.
os.environ.setdefault("TI_SKIP_VERSION_CHECK", "ON")

from simcli.kernels.language import source_text  # noqa: F401  (has to be there before Taichi)

import taichi as ti  # isort: skip

from simcli.kernels.language import tracing  # noqa: F401  (before the others)  # isort: skip

__all__ = ["ti"]
