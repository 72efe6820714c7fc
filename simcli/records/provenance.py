"""Where a file comes from: versions, command line, device, and the whole scene with its checksums."""

import hashlib
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import simcli

if TYPE_CHECKING:
    import h5py

PACKAGES = ("taichi", "numpy", "h5py")


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
        versions: of simcli, python, taichi, numpy, h5py and the operating system; in a file also of hdf5.
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


def versions() -> dict[str, str]:
    """Versions of everything that a result depends on, without importing it."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"simcli": simcli.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return {**found, "os": platform.platform()}


def collect(
    scene_source: Sequence[tuple[str, str]],
    scene_resolved: str,
    device: str,
    precision: str,
    seed: int,
    argv: Sequence[str] | None = None,
    deterministic: bool = True,
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
    )


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
    group.create_dataset("scene_resolved", data=provenance.scene_resolved, dtype=text)
    group.attrs["scene_resolved_sha256"] = sha256(provenance.scene_resolved)


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
        versions={key.removeprefix("version_"): str(group.attrs[key]) for key in group.attrs
                  if key.startswith("version_")},
    )  # fmt: skip


def provenance_problems(group: "h5py.Group") -> list[str]:
    """Scene texts whose SHA-256 does not match."""
    stored = list(group["source_sha256"].asstr()[...])
    provenance = read_provenance(group)
    problems = []
    for (path, text), expected in zip(provenance.scene_source, stored, strict=True):
        if sha256(text) != expected:
            problems.append(f"/provenance/scene_source: {path} does not match its SHA-256")
    if sha256(provenance.scene_resolved) != group.attrs["scene_resolved_sha256"]:
        problems.append("/provenance/scene_resolved does not match its SHA-256")
    return problems
