"""Where a file comes from: versions, command line, device, and the whole scene with its checksums."""

import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import simcli
from simcli.engines import engine_of_process
from simcli.release import commit

if TYPE_CHECKING:
    import h5py

MAX_FILE_BYTES = 64 * 2**20  # [B] of meshes and tables that a result keeps beside the scene, so that it can be run again


def sha256(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Provenance:
    """What a reader must know to make the same bytes again.

    Attributes:
        scene_source: (path relative to the scene, text) of the scene file and of everything that it includes.
        scene_resolved: the scene after include, defaults, templates, --set and parameters.
        argv: the command line.
        device: where it ran, as "cpu: Xeon ..., 2 threads" or "cuda: H200".
        precision: "float64" or "float32".
        seed: of the batch.
        deterministic: False if some option gave up the same bytes.
        created_utc: ISO 8601.
        versions: of simcli, its commit where that is known, python, the engine, numpy, h5py and the operating system; in a
            file also of hdf5.
        overrides: (option, text, path) of `--set` and the like, which make the scene of the sources the one that was run;
            None if they are not known.
        worlds: numbers in the batch of those that were run, None if all were.
        files: (path relative to the scene, SHA-256, content) of meshes and tables; None of one that was not kept.
        origin: of a file that was cut or put together: JSON of what it was made from; "" of a run.
    """

    scene_source: tuple[tuple[str, str], ...]
    scene_resolved: str
    argv: tuple[str, ...]
    device: str
    precision: str
    seed: int
    deterministic: bool = True
    created_utc: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    overrides: tuple[tuple[str, str, str], ...] | None = None
    worlds: tuple[int, ...] | None = None
    files: tuple[tuple[str, str, bytes | None], ...] = ()
    origin: str = ""


def versions() -> dict[str, str]:
    """Versions of everything that a result depends on, without importing it."""
    of_bytes = versions_of("numpy", "h5py")
    found = {"simcli": of_bytes.pop("simcli"), "python": platform.python_version()}
    if commit():
        found["simcli_commit"] = commit()
    return {**found, **of_bytes, "os": platform.platform()}


def versions_of(*packages: str) -> dict[str, str]:
    """Versions of simcli, of the engine that compiles, and of some packages, without importing them."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"simcli": simcli.__version__}
    for package in (engine_of_process().package, *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def collect_provenance(
    scene_source: Sequence[tuple[str, str]],
    scene_resolved: str,
    device: str,
    precision: str,
    seed: int,
    argv: Sequence[str] | None = None,
    deterministic: bool = True,
    overrides: Sequence[tuple[str, str, str]] | None = None,
    worlds: Sequence[int] | None = None,
    files: Sequence[tuple[str, bytes]] = (),
) -> Provenance:
    """Provenance of a run that starts now in this process.

    Args:
        scene_source: (path, text) of every file of the scene.
        scene_resolved: the resolved scene.
        device: name of the device.
        precision: "float64" or "float32".
        seed: of the batch.
        argv: the command line, default `sys.argv`.
        deterministic: False if some option gave up the same bytes.
        overrides: (option, text, path) of the command line.
        worlds: numbers in the batch of those that are run, None for all.
        files: (path relative to the scene, content) of meshes and tables.
    """
    return Provenance(
        scene_source=tuple((str(path), text) for path, text in scene_source),
        scene_resolved=scene_resolved,
        argv=tuple(sys.argv if argv is None else argv),
        device=device,
        precision=precision,
        seed=int(seed),
        deterministic=deterministic,
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions(),
        overrides=None if overrides is None else tuple((str(a), str(b), str(c)) for a, b, c in overrides),
        worlds=None if worlds is None else tuple(map(int, worlds)),
        files=_kept(files),
    )


def kept_bytes(files: Iterable[bytes]) -> int:
    """[B], what the file of a run keeps of meshes and tables."""
    return sum(len(data or b"") for _, _, data in _kept([(str(k), data) for k, data in enumerate(files)]))


def _kept(files: Sequence[tuple[str, bytes]]) -> tuple[tuple[str, str, bytes | None], ...]:
    """Files with their checksums; the smaller ones first get what room there is."""
    room, kept = MAX_FILE_BYTES, {}
    for path, data in sorted(files, key=lambda one: len(one[1])):
        fits = len(data) <= room
        room -= len(data) if fits else 0
        kept[path] = (path, hashlib.sha256(data).hexdigest(), data if fits else None)
    return tuple(kept[path] for path, _ in files)


def write_provenance(group: "h5py.Group", provenance: Provenance) -> None:
    """Fill /provenance: short facts as attributes, the scene as datasets."""
    import h5py

    facts = asdict(provenance)
    for name in ("device", "precision", "seed", "deterministic", "created_utc"):
        group.attrs[name] = facts[name]
    for name, value in {**provenance.versions, "hdf5": h5py.version.hdf5_version}.items():
        group.attrs[f"version_{name}"] = value
    text = h5py.string_dtype()
    group.create_dataset("argv", data=json.dumps(provenance.argv), dtype=text)  # an attribute holds 64 KiB at most
    paths = [path for path, _ in provenance.scene_source]
    sources = [source for _, source in provenance.scene_source]
    scale = group.create_dataset("source_path", shape=(len(paths),), data=paths, dtype=text)
    scale.make_scale("source_path")
    for name, values in (("scene_source", sources), ("source_sha256", [sha256(source) for source in sources])):
        dataset = group.create_dataset(name, shape=(len(values),), data=values, dtype=text)
        dataset.dims[0].attach_scale(scale)
    _write_rerun(group, provenance)
    group.create_dataset("scene_resolved", data=provenance.scene_resolved, dtype=text)
    group.attrs["scene_resolved_sha256"] = sha256(provenance.scene_resolved)


def _write_rerun(group: "h5py.Group", provenance: Provenance) -> None:
    """What the sources need to become the scene that was run."""
    import h5py
    import numpy as np

    text = h5py.string_dtype()
    if provenance.overrides is not None:
        group.create_dataset("overrides", data=json.dumps(provenance.overrides), dtype=text)
    if provenance.worlds is not None:
        group.create_dataset("worlds", data=np.array(provenance.worlds, np.int64))
    if provenance.origin:
        group.create_dataset("origin", data=provenance.origin, dtype=text)
    if provenance.files:
        group.create_dataset("file_path", data=[path for path, _, _ in provenance.files], dtype=text)
        group.create_dataset("file_sha256", data=[checksum for _, checksum, _ in provenance.files], dtype=text)
        sizes = np.array([-1 if data is None else len(data) for _, _, data in provenance.files], np.int64)
        group.create_dataset("file_bytes", data=sizes).attrs["long_name"] = "length in file_content, -1 if it was not kept"
        content = np.frombuffer(b"".join(data or b"" for _, _, data in provenance.files), np.uint8)
        group.create_dataset("file_content", data=content, **({"fletcher32": True, "chunks": True} if content.size else {}))


def _read_files(group: "h5py.Group") -> tuple[tuple[str, str, bytes | None], ...]:
    if "file_path" not in group:
        return ()
    content, at, found = group["file_content"][...].tobytes(), 0, []
    columns = (group["file_path"].asstr()[...], group["file_sha256"].asstr()[...], group["file_bytes"][...].tolist())
    for path, checksum, size in zip(*columns, strict=True):
        found.append((path, checksum, None if size < 0 else content[at : at + size]))
        at += max(size, 0)
    return tuple(found)


def _read_overrides(group: "h5py.Group") -> tuple[tuple[str, str, str], ...] | None:
    if "overrides" not in group:
        return None
    return tuple((str(option), str(text), str(path)) for option, text, path in json.loads(group["overrides"].asstr()[()]))


def _read_worlds(group: "h5py.Group") -> tuple[int, ...] | None:
    if "world" in group.attrs:  # of files from before several worlds could be chosen
        return (int(group.attrs["world"]),)
    return tuple(group["worlds"][...].tolist()) if "worlds" in group else None


def read_provenance(group: "h5py.Group") -> Provenance:
    """Read /provenance back."""
    texts = {name: list(group[name].asstr()[...]) for name in ("source_path", "scene_source")}
    return Provenance(
        scene_source=tuple(zip(texts["source_path"], texts["scene_source"], strict=True)),
        scene_resolved=group["scene_resolved"].asstr()[()],
        argv=tuple(json.loads(group["argv"].asstr()[()])),
        device=str(group.attrs["device"]),
        precision=str(group.attrs["precision"]),
        seed=int(group.attrs["seed"]),
        deterministic=bool(group.attrs["deterministic"]),
        created_utc=str(group.attrs["created_utc"]),
        versions={key.removeprefix("version_"): str(group.attrs[key]) for key in group.attrs if key.startswith("version_")},
        overrides=_read_overrides(group),
        worlds=_read_worlds(group),
        files=_read_files(group),
        origin=group["origin"].asstr()[()] if "origin" in group else "",
    )


def file_problems(provenance: Provenance) -> list[str]:
    """Meshes and tables whose SHA-256 does not match."""
    return [
        f"/provenance/file_content: {path} does not match its SHA-256"
        for path, checksum, data in provenance.files
        if data is not None and hashlib.sha256(data).hexdigest() != checksum
    ]


def provenance_problems(group: "h5py.Group") -> list[str]:
    """Scene texts whose SHA-256 does not match."""
    stored = list(group["source_sha256"].asstr()[...])
    provenance = read_provenance(group)
    problems = []
    for (path, text), expected in zip(provenance.scene_source, stored, strict=True):
        if sha256(text) != expected:
            problems.append(f"/provenance/scene_source: {path} does not match its SHA-256")
    problems += file_problems(provenance)
    if sha256(provenance.scene_resolved) != group.attrs["scene_resolved_sha256"]:
        problems.append("/provenance/scene_resolved does not match its SHA-256")
    return problems
