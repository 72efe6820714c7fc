"""Joints whose coordinate at the start an option, a batch or a sweep names: by path, by pattern, or by a parameter."""

from simcli.model.mechanism import JointInput
from simcli.spec.batches.worlds import tree_with_ranks
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.starts import naming_ranks
from simcli.spec.schema.scene import SceneSpec


def mark_named(document: Document | None, spec: SceneSpec, parts: list[JointInput]) -> None:
    """Note who names the joints.

    Args:
        document: the scene as written.
        spec: its meaning.
        parts: completed in place: `named`.
    """
    if document is None or not (document.overrides or spec.batch.paths):
        return
    names = [part.name for part in parts]
    place = {name: k for k, name in enumerate(names)}
    groups = {title: [place[name] for name in group] for title, group in (spec.articulations or {}).items()}
    tree = tree_with_ranks(document, spec.batch.paths)
    for part, rank in zip(parts, naming_ranks(spec, tree, names, groups), strict=True):
        part.named = rank
