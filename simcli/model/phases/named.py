"""Joints whose coordinate at the start an option, a batch or a sweep names: by path, by pattern, or by a parameter."""

import re

from simcli.model.mechanism import JointPart
from simcli.spec.document.nodes import Node, TableNode, find, parse_path, walk_nodes
from simcli.spec.document.overrides import overridden_path
from simcli.spec.document.scene_file import Document
from simcli.spec.names.patterns import matching
from simcli.spec.schema.scene import SceneSpec


def mark_named(document: Document | None, spec: SceneSpec, parts: list[JointPart]) -> None:
    """Note which joints are named.

    Args:
        document: the scene as written.
        spec: its meaning.
        parts: completed in place: `is_named`.
    """
    given = [overridden_path(one) for one in document.overrides] if document is not None else []
    paths = [steps for steps in map(parse_path, (*given, *spec.batch.paths)) if steps]
    names, listed = [part.name for part in parts], {}
    if spec.articulations:
        place = {name: k for k, name in enumerate(names)}
        listed = {title: [place[name] for name in group] for title, group in spec.articulations.items()}
    params = {str(steps[1]) for steps in paths if steps[0] == "params" and len(steps) > 1}
    tree = document.root if document is not None else None  # expansion puts numbers for expressions
    for steps in paths:
        if steps[0] == "joints" and len(steps) > 2 and steps[2] == "q":
            _mark(parts, [k for k, name in enumerate(names) if name == steps[1]])
        elif steps[:2] == ("initial", "joint_q") and len(steps) > 2:
            _mark(parts, matching(names, str(steps[2]), listed))
    if params and tree is not None:
        for k, name in enumerate(names):
            if _reads(find(tree, ("joints", name, "q")), params):
                _mark(parts, [k])
        own = find(tree, ("initial", "joint_q"))
        for pattern, node in own.items.items() if isinstance(own, TableNode) else ():
            if _reads(node, params):
                _mark(parts, matching(names, str(pattern), listed))


def _mark(parts: list[JointPart], places: list[int]) -> None:
    for place in places:
        parts[place].is_named = True


def _reads(node: Node | None, params: set[str]) -> bool:
    """Whether an expression of a value has one of some parameters."""
    if node is None:
        return False
    texts = [one.value for _, one in walk_nodes(node) if isinstance(getattr(one, "value", None), str)]
    return any(params & set(re.findall(r"[A-Za-z_]\w*", text)) for text in texts if "$" in text)
