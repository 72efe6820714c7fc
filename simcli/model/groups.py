"""Articulations of one structure side by side: which joints, bodies and coordinates of each a view shows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcli.model.joints.catalogue import CATALOGUE
from simcli.model.joints.selection import owners, walk
from simcli.model.joints.topology import Step
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.model import WORLD, Array, JointKind, Model
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.base.patterns import Pattern, listed, matching, wanted

ELSEWHERE = -2  # a body that is not of the articulation


@dataclass(frozen=True)
class Filters:
    """What a view shows of each articulation; None is no filter.

    Names are matched, in the first articulation, relative to the path that all of its names share, else in full.

    Attributes:
        include_joints, exclude_joints, include_links, exclude_links: patterns (`spec/base/patterns.py`).
        include_joint_types, exclude_joint_types: JointKind, their numbers or names as scenes spell them.
        loops: joints that close loops are shown too.
    """

    include_joints: Pattern | None = None
    exclude_joints: Pattern | None = None
    include_links: Pattern | None = None
    exclude_links: Pattern | None = None
    include_joint_types: Sequence[JointKind | int | str] | None = None
    exclude_joint_types: Sequence[JointKind | int | str] | None = None
    loops: bool = False


@dataclass(frozen=True)
class Group:
    """C articulations of one structure.

    Attributes:
        articulation: (C,) their indices.
        root: (C,) the joint that carries each, or -1 if there are several.
        loop: (C, n) joints that close loops in them, shown or not.
        joint: (C, n) joints that are shown: the root's first, then in file order, then those that close loops.
        body: (C, n) links that are shown: the root's first, then in file order.
        q: (C, n) their places in joint_q.
        qd: (C, n) their places in joint_qd.
        prefix: what all names of each begin with, up to a slash.
        shows_loops: whether `loop` is among what may be shown.
    """

    articulation: Array
    root: Array
    loop: Array
    joint: Array
    body: Array
    q: Array
    qd: Array
    prefix: tuple[str, ...]
    shows_loops: bool


@dataclass(frozen=True)
class _Members:
    """One articulation: its joints and bodies in the order of a view."""

    roots: tuple[int, ...]
    joints: tuple[int, ...]
    loops: tuple[int, ...]
    bodies: tuple[int, ...]


def find_group(model: Model, pattern: Pattern, filters: Filters) -> Group:
    """The articulations that a pattern means, cut by filters.

    Args:
        model: the tables.
        pattern: over names of articulations.
        filters: of joints and links.

    Raises:
        KeyError: nothing fits the pattern, or an included name.
        ValueError: the articulations differ in structure, or a pattern is none.
    """
    titles = model.joints.articulation_name
    numbers = matching(titles, pattern)
    if not numbers:
        raise KeyError(f"{pattern!r} matches no articulation; {did_you_mean(str(pattern), titles, 'articulations')}")
    members = _members(model, numbers)
    _same_structure(model.joints, [titles[a] for a in numbers], members)
    prefixes = tuple(_shared_path(model.bodies, model.joints, one) for one in members)
    joints, bodies = (
        _joints(model.joints, members, prefixes[0], filters),
        _links(model.bodies, members, prefixes[0], filters),
    )
    return Group(
        articulation=np.array(numbers),
        root=np.array([one.roots[0] if len(one.roots) == 1 else -1 for one in members]),
        loop=_rows(members, "loops"),
        joint=joints,
        body=bodies,
        q=_spans(model.joints.q_start, joints),
        qd=_spans(model.joints.qd_start, joints),
        prefix=prefixes,
        shows_loops=filters.loops,
    )


def _joints(joints: Joints, members: list[_Members], prefix: str, filters: Filters) -> Array:
    """Joints that are shown, (C, n)."""
    table = _rows(members, "joints")
    if filters.loops:
        table = np.concatenate((table, _rows(members, "loops")), axis=1)
    names = [joints.name[j] for j in table[0]]
    kinds = [int(joints.kind[j]) for j in table[0]]
    include = _places(names, prefix, filters.include_joints, "joint")
    exclude = _places(names, prefix, filters.exclude_joints)
    return table[
        :, wanted(names, kinds, include, exclude, _kinds(filters.include_joint_types), _kinds(filters.exclude_joint_types))
    ]


def _links(bodies: Bodies, members: list[_Members], prefix: str, filters: Filters) -> Array:
    """Bodies that are shown, (C, n)."""
    table = _rows(members, "bodies")
    names = [bodies.name[b] for b in table[0]]
    include = _places(names, prefix, filters.include_links, "link")
    return table[:, wanted(names, [None] * len(names), include, _places(names, prefix, filters.exclude_links))]


def _rows(members: list[_Members], name: str) -> Array:
    return np.array([getattr(one, name) for one in members], int).reshape(len(members), -1)


def _members(model: Model, numbers: list[int]) -> list[_Members]:
    """Joints and bodies of some articulations."""
    of_body, of_joint = owners(model)
    steps, joints, bodies = ({a: [] for a in range(-1, len(model.joints.articulation_name))} for _ in range(3))
    for step in walk(model):
        steps[int(of_joint[step.joint])].append(step)
    for table, owner in ((joints, of_joint), (bodies, of_body)):
        for place, a in enumerate(owner.tolist()):
            table[a].append(place)
    found = []
    for a in numbers:
        roots: list[Step] = [step for step in steps[a] if step.inner == WORLD or of_body[step.inner] != a]
        first, top = [step.joint for step in roots[:1]], [step.outer for step in roots[:1]]
        tree = [j for j in joints[a] if model.joints.is_tree[j] and j not in first]
        loops = [j for j in joints[a] if not model.joints.is_tree[j]]
        others = [b for b in bodies[a] if b not in top]
        found.append(_Members(tuple(step.joint for step in roots), (*first, *tree), tuple(loops), (*top, *others)))
    return found


def _same_structure(joints: Joints, titles: list[str], members: list[_Members]) -> None:
    """Refuse articulations that differ in the number, type, dofs or ends of a joint.

    Raises:
        ValueError: with the first difference.
    """
    first = _structure(joints, members[0])
    for title, one in zip(titles[1:], members[1:], strict=True):
        other = _structure(joints, one)
        if len(one.bodies) != len(members[0].bodies) or len(other) != len(first):
            sizes = [
                f"`{name}` has {len(m.joints) + len(m.loops)} joints and {len(m.bodies)} links"
                for name, m in ((titles[0], members[0]), (title, one))
            ]
            raise ValueError(f"the articulations differ: {', '.join(sizes)}")
        for place, (mine, theirs) in enumerate(zip(first, other, strict=True)):
            if mine != theirs:
                pair = [(*m.joints, *m.loops)[place] for m in (members[0], one)]
                names = " and ".join(f"`{joints.name[j]}`" for j in pair)
                raise ValueError(
                    f"the articulations `{titles[0]}` and `{title}` differ: {names} have not the same type, "
                    "degrees of freedom and ends"
                )


def _structure(joints: Joints, one: _Members) -> list[tuple]:
    """Per joint what a view of several articulations must have in common."""
    local = {WORLD: WORLD} | {body: place for place, body in enumerate(one.bodies)}
    t = joints
    return [
        (
            int(t.kind[j]),
            *t.dof_dim[j].tolist(),
            local.get(int(t.parent[j]), ELSEWHERE),
            local.get(int(t.child[j]), ELSEWHERE),
            bool(t.is_tree[j]),
        )
        for j in (*one.joints, *one.loops)
    ]


def _shared_path(bodies: Bodies, joints: Joints, one: _Members) -> str:
    """What all names of an articulation begin with, up to and with a slash; "" if they share nothing."""
    names = [*(joints.name[j] for j in (*one.joints, *one.loops)), *(bodies.name[b] for b in one.bodies)]
    paths = [name.split("/")[:-1] for name in names]
    shared: list[str] = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "".join(f"{part}/" for part in shared)


def _places(names: list[str], prefix: str, pattern: Pattern | None, required: str = "") -> list[int] | None:
    """Places that a pattern means; each part of it must mean something if `required` says what it is about.

    Raises:
        KeyError: a part means nothing.
    """
    if pattern is None:
        return None
    relative = [name.removeprefix(prefix) for name in names]
    items = [pattern] if isinstance(pattern, str | re.Pattern) else listed(pattern)
    if not all(isinstance(item, str | re.Pattern) for item in items):
        return matching(relative, items)
    found: set[int] = set()
    for item in items:
        places = matching(relative, item) or matching(names, item)
        if required and not places:
            raise KeyError(f"{item!r} matches no {required}; {did_you_mean(str(item), relative, f'{required}s')}")
        found.update(places)
    return sorted(found)


def _kinds(types: Sequence[JointKind | int | str] | None) -> list[int] | None:
    """Joint types as numbers.

    Raises:
        ValueError: one of them is no joint type.
    """
    if types is None:
        return None
    found = []
    for one in [types] if isinstance(types, str | int) else types:
        if isinstance(one, str) and one.lower() in CATALOGUE:
            found.append(int(CATALOGUE[one.lower()].kind))
        elif not isinstance(one, str | bool) and one in JointKind.__members__.values():
            found.append(int(one))
        else:
            raise ValueError(f"{one!r} is no joint type; {did_you_mean(str(one), CATALOGUE, 'types')}")
    return found


def _spans(start: Array, joints: Array) -> Array:
    """Coordinates of the joints of each articulation, in their order."""
    rows = [np.concatenate([np.zeros(0, int), *(np.arange(start[j], start[j + 1]) for j in row)]) for row in joints]
    return np.array(rows, int).reshape(len(joints), -1)
