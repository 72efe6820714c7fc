"""A scene as a model of another format: what `simcli export` goes through."""

from collections.abc import Callable

from simcli import __version__
from simcli.exchange.source.import_report import ConvertedModel, ImportReport
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
    """
    scene = WrittenScene(document, spec, build(spec, document), ImportReport(str(document.path)))
    meshes = MeshCopies(document, folder)
    root = _ROOTS[suffix](scene, meshes)
    tell_the_rest(scene)
    return ConvertedModel(document_text(root, _head(scene.report)), meshes.files, scene.report)


def _head(report: ImportReport) -> list[str]:
    counts = ", ".join(f"{count} {fate}" for fate, count in report.counts().items() if count)
    lines = [f"Written by simcli {__version__}: elements {counts or 'none'}."]
    for fate in ("changed", "dropped"):
        lines += [f"  {fate}: {len(entries)} {kind}: {why}" for kind, why, entries in report.sums(fate)]
    return lines
