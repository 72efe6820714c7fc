"""Where a scene begins: the one order of all that speaks of a coordinate or a velocity at the start.

    `q`, `qd`, pose and velocity of the file < keyframe < `initial` < `batch.vary` and `batch.table` of the file
    < `--set` < `--vary`, a table, a sweep, a fit, a program

Of one rank a path that names the joint beats a pattern, and of two that do the later one of this list holds:
`q` or `qd`, `initial`. The rank of a number is that of its mark, so that each component of a list has its own.

What the ranks of the file decide is the order of `initial` alone, in which later entries hold: `in_order_of_ranks`.
Where a higher rank has spoken, `with_starts` writes what holds behind all others; so a resolved scene begins there, too.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.spec.base.nodes import Listing, Node, PathStep, Rank, Scalar, TableNode, find, full_rank, start_rank
from simcli.spec.base.patterns import matching
from simcli.spec.lookup import structure
from simcli.spec.lookup.scene_values import AXES, plane_normal
from simcli.spec.schema.pose import ORIENTATIONS
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.varied_values import in_all_worlds, number_row, plain_numbers

STATES = {"joint_q": "q", "joint_qd": "qd"}  # tables of `initial` and of a keyframe, and the key of a joint
_OF_BODIES = ("pose", "velocity")


def rank_of_varied(root: TableNode, path: str, typed: Collection[str] = ()) -> Rank:
    """The rank of a value that a world takes at a path: of the batch of the file, or of who runs it.

    Args:
        root: of the scene as written.
        path: dotted.
        typed: paths whose values stand for those of `--set`.
    """
    if path in typed:
        return Rank.SET
    batch = root.get("batch")
    node = find(batch, ("vary", path)) if batch is not None else None
    if node is None and isinstance(batch, TableNode):
        node = batch.get("table")
    return Rank.RUN if node is None or start_rank(node) != Rank.FILE else Rank.BATCH


def is_of_start(steps: Sequence[PathStep]) -> bool:
    """Whether a path leads to what says where a run begins."""
    head, key = steps[0], str(steps[2]) if len(steps) > 2 else ""
    return (
        head in ("initial", "keyframes")
        or (head == "joints" and (not key or key in STATES.values()))
        or (head == "bodies" and (not key or key in _OF_BODIES))
    )


def in_order_of_ranks(tree: TableNode, entries: TableNode) -> TableNode:
    """Entries of one rank of the file, patterns before names.

    Args:
        tree: of the scene, expanded.
        entries: `joint_q` or `joint_qd` of a keyframe or of `initial`.
    """
    sections = (tree.get("joints"), tree.get("bodies"))
    joints, bodies = ({} if not isinstance(node, TableNode) else node.items for node in sections)
    patterns = [key for key in entries.items if key not in joints and key.removesuffix("_free") not in bodies]
    order = [*patterns, *(key for key in entries.items if key not in patterns)]
    return (
        entries
        if order == list(entries.items)
        else TableNode(
            {key: entries.items[key] for key in order},
            {key: entries.keys[key] for key in order},
            entries.mark,
            entries.block,
        )
    )


def with_starts(spec: SceneSpec, tree: TableNode) -> SceneSpec:
    """The scene whose `initial` says of each joint what the highest rank says.

    Args:
        spec: the scene, its poses in what owns them.
        tree: it, expanded, with marks.
    """
    if not (spec.initial.joint_q or spec.initial.joint_qd or any(body.velocity for body in spec.bodies.values())):
        return spec
    speaking = [_ranked_subjects(spec, tree, key) for key in STATES]
    if not any(speaking):
        return spec
    changes = {}
    names = (*spec.joints, *(f"{body}_free" for body in structure.tree(spec).free_bodies))
    for key, subjects in zip(STATES, speaking, strict=True):
        entries = dict(getattr(spec.initial, key))
        said = _said_in_initial(spec, tree, key, names)
        for name in names if None in subjects else [name for name in names if name in subjects]:
            own = (_of_body(spec, tree, key, name), _of_joint(spec, tree, key, name))
            entries = _with_holding(entries, name, [*(one for one in own if one is not None), *said.get(name, ())], names)
        if entries != getattr(spec.initial, key) or list(entries) != list(getattr(spec.initial, key)):
            changes[key] = entries
    return spec.model_copy(update={"initial": spec.initial.model_copy(update=changes)}) if changes else spec


def naming_ranks(spec: SceneSpec, tree: TableNode, names: Sequence[str], groups: Mapping[str, Sequence[int]]) -> list[Rank]:
    """The rank of who names the coordinates of each joint: by path, by pattern, or by a parameter that they are made of.

    Args:
        spec: the scene.
        tree: it, expanded, with marks.
        names: of its joints, those of free bodies included.
        groups: articulations, places in `names`.
    """
    said: list[list[Node]] = [[] for _ in names]
    for place, name in enumerate(names):
        joint = spec.joints.get(name)
        is_free = joint is None or (joint.type == "free" and joint.parent == structure.WORLD_NAME)
        body = name.removesuffix("_free") if joint is None else joint.child
        paths = [("bodies", body, "pose")] if is_free else []
        nodes = (find(tree, path) for path in (*paths, ("joints", name, STATES["joint_q"])))
        said[place] = [node for node in nodes if node is not None]
    entries = find(tree, ("initial", "joint_q"))
    for pattern, node in entries.items.items() if isinstance(entries, TableNode) else ():
        for place in matching(names, str(pattern), groups):
            said[place].append(node)
    # Of what the file says the last holds, and so do the parameters that it is made of.
    return [max(*map(_highest, nodes), _highest(nodes[-1], full_rank)) if nodes else Rank.FILE for nodes in said]


@dataclass
class _Said:
    """What one place says of a joint.

    Attributes:
        value: numbers, or `center`; None where the model alone can tell them.
        parts: nodes that each number is made of.
        is_name: whether the place names the joint.
        is_entry: whether it stands in `initial`, where it holds over all that is said before.
    """

    value: Sequence[float] | str | None
    parts: list[list[Node]]
    is_name: bool = True
    is_entry: bool = False

    @property
    def ranks(self) -> list[Rank]:
        """Of each number."""
        return [max(map(start_rank, nodes), default=Rank.FILE) for nodes in self.parts]


def _ranked_subjects(spec: SceneSpec, tree: TableNode, key: str) -> set[str | None]:
    """Joints of which a rank above the file's speaks; None among them stands for all that a pattern may mean."""
    found: set[str | None] = set()
    for name in spec.joints:
        if _highest(find(tree, ("joints", name, STATES[key]))):
            found.add(name)
    for name in spec.bodies:
        if _highest(find(tree, ("bodies", name, _OF_BODIES[list(STATES).index(key)]))):
            found.add(f"{name}_free")
            found |= {joint for joint, one in spec.joints.items() if one.child == name}
    initial = find(tree, ("initial", key))
    if isinstance(initial, TableNode) and any(map(_highest, initial.items.values())):
        found.add(None)
    return found


def _highest(node: Node | None, rank_of: Callable[[Node | None], Rank] = start_rank) -> Rank:
    """The highest rank below a value."""
    if isinstance(node, TableNode):
        return max((_highest(item, rank_of) for item in node.items.values()), default=rank_of(node))
    if isinstance(node, Listing):
        return max(map(rank_of, node.items), default=rank_of(node))
    return rank_of(node)


def _parts(node: Node | None, count: int) -> list[list[Node]]:
    """What the numbers of a list, or a number, are made of."""
    if isinstance(node, Listing) and len(node.items) == count:
        return [[item] for item in node.items]
    return [[] if node is None else [node]] * count


def _below(node: Node | None) -> list[Node]:
    """The values below a node that are no tables and no lists, or itself."""
    if isinstance(node, TableNode | Listing):
        items = node.items.values() if isinstance(node, TableNode) else node.items
        return [one for item in items for one in _below(item)] or [node]
    return [] if node is None else [node]


def _of_joint(spec: SceneSpec, tree: TableNode, key: str, name: str) -> _Said | None:
    """What `q` or `qd` of a joint says."""
    joint = spec.joints.get(name)
    value = getattr(joint, STATES[key]) if joint is not None else None
    return None if value is None else _Said(value, _parts(find(tree, ("joints", name, STATES[key])), len(value)))


def _of_body(spec: SceneSpec, tree: TableNode, key: str, name: str) -> _Said | None:
    """What the pose or the velocity of a free body says of its joint."""
    joint = spec.joints.get(name)
    is_free = joint is None or (joint.type == "free" and joint.parent == structure.WORLD_NAME)
    body = name.removesuffix("_free") if joint is None else joint.child
    if not is_free or body not in spec.bodies:
        return None
    if key == "joint_qd":
        return _velocity(spec, tree, body, spec.world.plane if joint is None else None, joint)
    pose = spec.bodies[body].pose
    if pose is None or (joint is not None and (joint.uses_frames or joint.at is not None)):
        return None
    node = find(tree, ("bodies", body, "pose"))
    turns = [one for key in ORIENTATIONS for one in _below(find(node, (key,)))] if node is not None else []
    places = _parts(find(node, ("xyz",)), 3) if node is not None else [[]] * 3
    if isinstance(node, Scalar) or find(node, ("in",)) is not None:
        places, turns = [_below(node)] * 3, _below(node)
    if joint is not None or spec.world.plane is None:
        return _Said((*pose.xyz, *pose.quat_xyzw), [*places, *[turns] * 4])
    axes, normal = np.array(AXES[spec.world.plane]), np.array(plane_normal(spec.world.plane))

    def in_plane(pose: np.ndarray) -> np.ndarray:
        angle = 2.0 * np.arctan2(rot.dot(pose[..., 3:6], normal), pose[..., 6])
        along = [rot.dot(pose[..., :3], axis) for axis in axes]
        return np.stack((*along, np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi), axis=-1)

    return _Said(
        in_all_worlds(in_plane, (*pose.xyz, *pose.quat_xyzw)), [*(places[int(np.argmax(axis))] for axis in axes), turns]
    )


def _velocity(spec: SceneSpec, tree: TableNode, body: str, plane: str | None, joint) -> _Said | None:
    """What the velocity of a free body says: in a plane that of its origin, whose numbers the model alone can tell."""
    velocity = spec.bodies[body].velocity
    if velocity is None:
        return None
    halves = [
        (getattr(velocity, half) or (0.0, 0.0, 0.0), find(tree, ("bodies", body, "velocity", half)))
        for half in ("linear", "angular")
    ]
    if plane is not None:
        return _Said(None, [[one for _, node in halves for one in _below(node)]] * 3)
    parts = [_parts(node, 3) for _, node in halves]
    values = [number_row(value) for value, _ in halves]
    if joint is not None and joint.uses_frames and joint.parent_frame is not None:
        back = rot.quat_inverse(number_row(joint.parent_frame.quat_xyzw))
        values = [rot.quat_rotate(back, value) for value in values]
        parts = [[[node for nodes in one for node in nodes]] * 3 for one in parts]
    return _Said((*plain_numbers(values[0]), *plain_numbers(values[1])), [*parts[0], *parts[1]])


def _said_in_initial(spec: SceneSpec, tree: TableNode, key: str, names: Sequence[str]) -> dict[str, list[_Said]]:
    """What the entries of `initial` say of each joint, in their order."""
    found: dict[str, list[_Said]] = {}
    place_of = {name: place for place, name in enumerate(names)}
    articulations = (spec.articulations or {}).items()
    groups = {title: [place_of[one] for one in listed if one in place_of] for title, listed in articulations}
    for pattern, value in getattr(spec.initial, key).items():
        node = find(tree, ("initial", key, pattern))
        for place in matching(names, pattern, groups):
            count = len(value) if not isinstance(value, str) else 0
            parts = _parts(node, count or 1)
            found.setdefault(names[place], []).append(_Said(value, parts, names[place] == pattern, True))
    return found


def _with_holding(entries: dict, name: str, said: list[_Said], names: Sequence[str]) -> dict:
    """Entries of `initial` in which what holds of a joint stands last."""
    if not any(one.is_entry for one in said) and len(said) < 2:
        return entries
    best, whole = _best(said)
    if all(one is said[-1] for one in best):
        return entries  # what holds by the order of places alone
    holds: Sequence[float] | str | None = best[0].value if whole else tuple(one.value[k] for k, one in enumerate(best))
    left = _without(entries, name, names) if holds is None else {key: value for key, value in entries.items() if key != name}
    return left if holds is None else {**left, name: holds}


def _best(said: Sequence[_Said]) -> tuple[list[_Said], bool]:
    """Who holds each number of a joint; where they do not say numbers alike, who holds all of them, and True."""
    order = {id(one): place for place, one in enumerate(said)}

    def wins(one: _Said, rank: Rank) -> tuple:
        return (rank, one.is_name and rank > Rank.FILE, order[id(one)])

    counts = {len(one.value) if isinstance(one.value, tuple | list) else -1 for one in said}
    if len(counts) > 1 or -1 in counts:
        return [max(said, key=lambda one: wins(one, max(one.ranks)))], True
    return [max(said, key=lambda one, k=k: wins(one, one.ranks[k])) for k in range(counts.pop())], False


def held_nodes(spec: SceneSpec, tree: TableNode) -> Iterator[Node]:
    """What is written of the start and holds, of coordinates and of velocities.

    Args:
        spec: the scene.
        tree: it, expanded, with marks.
    """
    names = (*spec.joints, *(f"{body}_free" for body in structure.tree(spec).free_bodies))
    for key in STATES:
        entries = _said_in_initial(spec, tree, key, names)
        for name in names:
            own = (_of_body(spec, tree, key, name), _of_joint(spec, tree, key, name))
            said = [*(one for one in own if one is not None), *entries.get(name, ())]
            best, whole = _best(said) if said else ([], False)
            for k, one in enumerate(best):
                for nodes in one.parts if whole else [one.parts[k]]:
                    yield from nodes


def _without(entries: dict, name: str, names: Iterable[str]) -> dict:
    """Entries of which none means a joint, each of the others of its pattern by its own name."""
    names = list(names)
    found: dict = {}
    for pattern, value in entries.items():
        means = [names[place] for place in matching(names, pattern)]
        for key in [one for one in means if one != name] if name in means else [pattern]:
            found.pop(key, None)
            found[key] = value
    return found
