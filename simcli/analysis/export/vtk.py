"""VTK: NAME.pvd, the index over time, and a folder NAME with a .vtp per frame of the bodies, and one of the contacts.

Bodies are points where their frames are, with `orientation` (quaternion x y z w), `velocity` (of the centre of mass),
`angular_velocity`, `body`, `world`; their names are the field data `body_name`. Contacts, where the run recorded them, are
points with `force` (on shape b), `normal`, `gap`, `shape_a`, `shape_b`, `world`. All of it in world axes and SI units.

Source: VTK's XML file formats, PolyData and Collection, version 1.0: arrays inline in base64, each after its length as
UInt64. No deviation.
"""

import base64
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from simcli.analysis.export.channel_tables import ExportSeen, Extract, unseen
from simcli.errors import OutputError
from simcli.records.drafts import draft_of, written

BODIES, _CONTACTS = "bodies", "contacts"
_KINDS = {"f8": "Float64", "i8": "Int64", "i4": "Int32"}
OF_CONTACTS = ("force", "normal", "gap", "shape_a", "shape_b", "world")


def write(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write the index and its folder; returns the number of frames.

    Raises:
        UsageError: the run did not record its bodies.
        OutputError: they cannot be written, or the folder is there and holds other things.
    """
    folder = path.with_suffix("")
    draft = draft_of(folder)
    _check_free(folder)
    pose, twist = (asked.run.column(f"frames/{name}") for name in ("body_q", "body_qd"))
    try:
        draft.mkdir(parents=True)
        index = _write_frames(asked, draft, folder.name, pose, twist, seen)
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(draft, folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot write: {error.strerror or error}; nothing was left there") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    with written(path) as stream:
        stream.write(_document("Collection", "".join(f"    {line}\n" for line in index)))
    return len(asked.frames)


def _check_free(folder: Path) -> None:
    """Refuse to replace a folder that is not of an earlier export."""
    if folder.is_dir() and not all(name.suffix == ".vtp" for name in folder.iterdir()):
        raise OutputError(
            f"{folder}: is a folder that holds more than .vtp files, and will not be replaced; choose another -o"
        )
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file, where the folder of the frames goes; choose another -o")


def _write_frames(asked: Extract, draft: Path, name: str, pose, twist, seen: ExportSeen) -> list[str]:
    """Write all frames; returns the lines of the index."""
    run, worlds = asked.run, list(asked.worlds)
    low, high = min(worlds), max(worlds) + 1
    n_bodies, digits = len(run.bodies), len(str(max(run.n_frames - 1, 0)))
    labels = {"body": np.tile(np.arange(n_bodies), len(worlds)), "world": np.repeat(worlds, n_bodies)}
    has_contacts, index = "contacts" in run.channels, []
    for cut in asked.cuts(13 * n_bodies, pose.chunks[0]):
        both = [column[cut, low:high][:, np.subtract(worlds, low)] for column in (pose, twist)]
        for k, frame in enumerate(range(run.n_frames)[cut]):
            q, qd = (np.asarray(block[k], np.float64).reshape(-1, block.shape[-1]) for block in both)
            values = {"orientation": q[:, 3:], "velocity": qd[:, :3], "angular_velocity": qd[:, 3:], **labels}
            parts = {BODIES: _points(q[:, :3], values, {"body_name": run.bodies})}
            if has_contacts:
                table = run.contact_table(frame, frame + 1)
                keep = np.isin(table["world"], worlds)
                values = {column: table[column][keep] for column in OF_CONTACTS}
                parts[_CONTACTS] = _points(table["point"][keep], values, {"shape_name": run.model["shape_name"]})
            for number, (part, text) in enumerate(parts.items()):
                file = f"{part}_{frame:0{digits}d}.vtp"
                (draft / file).write_text(text, encoding="utf-8")
                index.append(
                    f'<DataSet timestep="{float(run.time[frame])!r}" group="" part="{number}" name="{part}" '
                    f"file={quoteattr(f'{name}/{file}')}/>"
                )
        seen(cut.stop / run.n_frames)
    return index


def _points(position: np.ndarray, values: Mapping[str, np.ndarray], names: Mapping[str, tuple[str, ...]]) -> str:
    """One PolyData: points, a vertex on each, numbers at each, and lists of names."""
    n = len(position)
    cells = _array("connectivity", np.arange(n)) + _array("offsets", np.arange(1, n + 1))
    body = (
        "".join(f"    <FieldData>\n{_words(name, words)}    </FieldData>\n" for name, words in names.items())
        + f'    <Piece NumberOfPoints="{n}" NumberOfVerts="{n}" NumberOfLines="0" NumberOfStrips="0" NumberOfPolys="0">\n'
        + f"      <PointData>\n{''.join(_array(name, one) for name, one in values.items())}      </PointData>\n"
        + f"      <Points>\n{_array('Points', position)}      </Points>\n"
        + f"      <Verts>\n{cells}      </Verts>\n    </Piece>\n"
    )
    return _document("PolyData", body)


def _document(kind: str, body: str) -> str:
    return (
        f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
        f"  <{kind}>\n{body}  </{kind}>\n</VTKFile>\n"
    )


def _array(name: str, values: np.ndarray) -> str:
    """A numeric array, float or integer, (n,) or (n, k)."""
    values = np.asarray(values)
    code = "f8" if values.dtype.kind == "f" else f"i{min(values.dtype.itemsize, 8)}"
    data = np.ascontiguousarray(values, f"<{code}").tobytes()
    text = base64.b64encode(len(data).to_bytes(8, "little") + data).decode()
    width = values.shape[1] if values.ndim > 1 else 1
    return (
        f'        <DataArray type="{_KINDS[code]}" Name={quoteattr(name)} NumberOfComponents="{width}" format="binary">'
        f"{text}</DataArray>\n"
    )


def _words(name: str, words: tuple[str, ...]) -> str:
    """A list of words: their bytes, each ended by 0."""
    codes = " ".join(str(code) for word in words for code in (*word.encode(), 0))
    head = f'      <Array type="String" Name={quoteattr(name)} NumberOfTuples="{len(words)}" format="ascii">'
    return f"{head}{codes}</Array>\n"
