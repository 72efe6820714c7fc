"""Which cases of a sweep a result holds, and the digest of its numbers."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np

from simcli.errors import FileError
from simcli.records.contents.digest import seal_again, static_digest
from simcli.records.drafts import sync
from simcli.records.reading.guard import reading

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

PLACE = "provenance/case"  # (W,) names of the cases, world by world


def write_cases(path: Path, cases: Sequence[str]) -> None:
    """Write the names of its cases into a result that is finished, and bring it to the disk.

    Args:
        path: of the result.
        cases: of its worlds.
    """
    with h5py.File(path, "r+") as file:
        file.create_dataset(PLACE, data=np.array(cases, "S"))
        seal_again(file)
    sync(path)


def read_cases(run: "Trajectory") -> list[str]:
    """The names of the cases of a result, world by world.

    Raises:
        FileError: it holds none, or not as many as worlds.
    """
    with reading(run.path):
        found = [name.decode() for name in run._file[PLACE][...].tolist()] if PLACE in run._file else None
    if found is None or len(found) != run.n_worlds:
        raise FileError(f"{run.path}: is no result of a sweep")
    return found


def numbers_digest(run: "Trajectory") -> str:
    """SHA-256 of the numbers of a result, in hexadecimal: its cases, tables, parameters, rows and measures.

    The rows enter by the digest that was made while they were written; `verify` compares it with the rows.
    """
    whole = hashlib.sha256("\n".join(read_cases(run)).encode())
    whole.update(f"\0{run.digest}\0".encode())
    with reading(run.path):
        whole.update(static_digest(run._file).encode())
    for name, measure in run.measures.items():
        whole.update(f"\0{name}\0".encode() + np.ascontiguousarray(measure.value).tobytes())
    return whole.hexdigest()
