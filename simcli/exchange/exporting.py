"""A scene as a model of another format: what `simcli export` goes through."""

from collections.abc import Callable

from simcli import __version__
from simcli.exchange.source.import_report import ConvertedModel, ImportReport
from simcli.exchange.source.mechanism import GivenNames
from simcli.exchange.writing.mjcf_model import mjcf_of
from simcli.exchange.writing.urdf_model import urdf_of
from simcli.exchange.writing.written_scene import MeshCopies, Tag, WrittenScene, document_text, tell_the_rest
from simcli.model import build
from simcli.spec.document.scene_file import Document
from simcli.spec.schema.scene import SceneSpec

_ROOTS: dict[str, Callable[[WrittenScene, MeshCopies], Tag]] = {".urdf": urdf_of, ".xml": mjcf_of}


def export_scene(document: Document, spec: SceneSpec, suffix: str, folder: str = "meshes") -> ConvertedModel:
    """Write a scene in another format, as far as that can say it.

    Args:
        document: the scene as written.
        spec: it resolved, checked.
        suffix: of the format, with its dot.
        folder: that the meshes get, relative to the model.

    Raises:
        SceneError: the scene makes no mechanism.
        UsageError: usd-core is missing, of USD.
    """
    scene = WrittenScene(document, spec, build(spec, document), ImportReport(str(document.path)))
    if suffix.startswith(".usd"):
        return _as_usd(scene, suffix)
    meshes = MeshCopies(document, folder)
    root = _ROOTS[suffix](scene, meshes)
    tell_the_rest(scene)
    return ConvertedModel(document_text(root, _head(scene.report)), meshes.files, scene.report)


def _as_usd(scene: WrittenScene, suffix: str) -> ConvertedModel:
    """A scene as USD, text or not; meshes stand in the file itself."""
    from simcli.exchange.writing.usd_model import usd_of
    from simcli.exchange.writing.usd_parts import bytes_of_stage

    stage = usd_of(scene)
    tell_the_rest(scene)
    stage.GetRootLayer().comment = "\n".join(_head(scene.report))
    data = bytes_of_stage(stage, suffix, GivenNames(()).give(scene.spec.name, "scene"))
    is_text = suffix == ".usda"
    return ConvertedModel(data.decode() if is_text else "", {}, scene.report, b"" if is_text else data)


def _head(report: ImportReport) -> list[str]:
    counts = ", ".join(f"{count} {fate}" for fate, count in report.counts().items() if count)
    lines = [f"Written by simcli {__version__}: elements {counts or 'none'}."]
    for fate in ("changed", "dropped"):
        lines += [f"  {fate}: {len(entries)} {kind}: {why}" for kind, why, entries in report.sums(fate)]
    return lines
