"""NPZ: an array per channel, (F, W, n) or (F, W) of a single number, with `time` (F,), `world` (W,) and `about`.

`about` is a JSON text of the labels and units of each array. Contacts: an array per column. Every array is written block by
block into the archive, so that none of them is ever whole in memory.
"""

import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from simcli.analysis.export.tables import ContactTable, ExportSeen, Extract, unseen
from simcli.records.drafts import drafted


def write(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns the length of its arrays: frames, or contacts."""
    with drafted(path) as draft, zipfile.ZipFile(draft, "w", allowZip64=True) as archive:
        return _write_contacts(asked, archive, seen) if asked.is_of_contacts else _write_channels(asked, archive, seen)


def _write_channels(asked: Extract, archive: zipfile.ZipFile, seen: ExportSeen) -> int:
    frames, n_worlds = asked.frames, len(asked.worlds)
    _add(archive, "time", (len(frames),), "<f8", [asked.run.time[:: asked.every]])
    _add(archive, "world", (n_worlds,), "<i8", [np.array(asked.worlds)])
    about = {source.name: {"labels": source.labels, "units": source.units} for source in asked.sources}
    _add_about(archive, about)
    for k, source in enumerate(asked.sources):
        n = len(source.labels)
        is_single = source.column.ndim == 2

        def blocks(source=source, n=n, k=k):
            for cut in asked.cuts(n, source.column.chunks[0]):
                yield source.read(cut, asked.worlds)
                seen((k + cut.stop / asked.run.n_frames) / len(asked.sources))

        _add(archive, source.name, (len(frames), n_worlds) if is_single else (len(frames), n_worlds, n), "<f8", blocks())
    return len(frames)


def _write_contacts(asked: Extract, archive: zipfile.ZipFile, seen: ExportSeen) -> int:
    table = ContactTable(asked)
    _add_about(archive, {header.name: {"units": [header.unit]} for header in table.headers})
    for k, header in enumerate(table.headers):

        def shown(part: float, k=k) -> None:
            seen((k + part) / len(table.headers))

        _add(archive, header.name, (table.n_rows,), header.kind, (block[k] for block in table.blocks(shown)))
    return table.n_rows


def _add_about(archive: zipfile.ZipFile, about: dict) -> None:
    text = np.array(json.dumps(about))
    _add(archive, "about", (), text.dtype.str, [text])


def _add(archive: zipfile.ZipFile, name: str, shape: Sequence[int], kind: str, blocks: Iterable[np.ndarray]) -> None:
    """Add one array, in C order."""
    dtype = np.dtype(kind)
    # A slash in a name (of a replica's body) makes a path in the archive, which numpy reads under the whole name.
    with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
        head = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
        npy.write_array_header_2_0(stream, head)
        for block in blocks:
            stream.write(np.ascontiguousarray(block, dtype).tobytes())
