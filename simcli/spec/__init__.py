"""Text to meaning.

In: a YAML scene file, its includes, overrides of the command line. Out: a frozen SceneSpec in SI with every reference
checked, or SceneError with all faults and their places. Never here: arrays on import, Taichi, HDF5, printing.
"""

from simcli.spec.document import Document, load_document
from simcli.spec.resolve import resolve
from simcli.spec.schema import SceneSpec

__all__ = ["Document", "SceneSpec", "load_document", "resolve"]
