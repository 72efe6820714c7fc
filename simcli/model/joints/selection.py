"""Which bodies and joints of a model a selection means, and what belongs to an articulation."""

from collections.abc import Sequence
from enum import STRICT, IntFlag
from typing import Any

import numpy as np

from simcli.model.joints.catalogue import TYPE_NAME
from simcli.model.joints.topology import Step, depth_first
from simcli.model.tables.model import WORLD, Array, JointKind, Model
from simcli.spec.base.patterns import Pattern, wanted


class BodyFlags(IntFlag, boundary=STRICT):
    """Kinds of bodies, as bits that add up.

    Attributes:
        DYNAMIC: moves by forces.
        KINEMATIC: moves as prescribed.
        ALL: both.

    Source: the body flags of the Newton engine. Deviation: no proxies, so that ALL is 3.
    """

    DYNAMIC = 1
    KINEMATIC = 2
    ALL = 3


def walk(model: Model) -> list[Step]:
    """Tree joints from the world outwards, as `topology.depth_first`."""
    joints = model.joints
    return depth_first(joints.parent.tolist(), joints.child.tolist(), joints.is_tree.tolist())


def owners(model: Model) -> tuple[Array, Array]:
    """Articulation of every body and of every joint.

    A body belongs to the articulation of the tree joint that reaches it, a joint that closes a loop to that of both of
    its bodies.

    Returns:
        (B,) and (J,), -1 for those in none (a loop joint between two articulations too).
    """
    joints = model.joints
    of_body = np.full(model.n_bodies, -1)
    for step in walk(model):
        of_body[step.outer] = joints.articulation[step.joint]
    of_joint = np.array(joints.articulation, int)
    for j in np.flatnonzero(~joints.is_tree):
        ends = {int(of_body[body]) for body in (joints.parent[j], joints.child[j]) if body != WORLD}
        of_joint[j] = ends.pop() if len(ends) == 1 else -1
    return of_body, of_joint


def flagged(model: Model, flags: int) -> tuple[Array, Array]:
    """Bodies of some kinds, and joints that place such a body.

    A joint of the tree places its outer body, a joint that closes a loop counts as one of its child.

    Args:
        model: the tables.
        flags: sum of `BodyFlags`.

    Returns:
        (B,) and (J,) bool.

    Raises:
        ValueError: a bit means no kind of body.
    """
    kind = np.where(model.bodies.kinematic, BodyFlags.KINEMATIC, BodyFlags.DYNAMIC)
    bodies = (kind & int(BodyFlags(flags))) != 0
    placed = np.array(model.joints.child)
    for step in walk(model):
        placed[step.joint] = step.outer
    return bodies, bodies[placed]


def choose_selection(
    model: Model,
    include: Pattern | None = None,
    exclude: Pattern | None = None,
    types: Sequence[str] | None = None,
    exclude_types: Sequence[str] | None = None,
) -> tuple[Array, Array]:
    """Bodies and joints that a selection keeps.

    Args:
        model: the tables.
        include: patterns over bodies, joints and articulations (`spec/base/patterns.py`); an articulation means all of its
            bodies and joints, unless a body or joint has its name.
        exclude: likewise, of what is left out.
        types: joint types that are kept too, as scenes spell them.
        exclude_types: joint types that are left out.

    Returns:
        Indices of bodies and of joints, ascending.

    Raises:
        ValueError: a pattern is none.
    """
    n = model.n_bodies
    kinds = [*[None] * n, *(TYPE_NAME[JointKind(kind)] for kind in model.joints.kind)]
    owner = np.concatenate(owners(model))
    groups = {title: np.flatnonzero(owner == a).tolist() for a, title in enumerate(model.joints.articulation_name)}
    names = (*model.bodies.name, *model.joints.name)
    kept = np.array(wanted(names, kinds, include, exclude, types, exclude_types, groups), np.int64)
    return kept[kept < n], kept[kept >= n] - n


def choose_written(model: Model, select: Any) -> tuple[tuple[Array, Array], str]:
    """Bodies and joints that `output.select` keeps, and what is wrong with it.

    Args:
        model: the tables.
        select: patterns over bodies, joints and articulations, or what has the fields of `output.select` of a scene.

    Returns:
        As `choose_selection`, and "" unless a pattern that includes fits nothing, or nothing is left.
    """
    fields = ("include", "exclude", "types", "exclude_types")
    chosen = {"include": select} if isinstance(select, Sequence) else {name: getattr(select, name) for name in fields}
    kept = choose_selection(model, **chosen)
    for pattern in chosen["include"] or ():
        if not any(map(len, choose_selection(model, pattern))):
            return kept, f"`{pattern}` matches no body, no joint and no articulation"
    return kept, "" if any(map(len, kept)) else "`select` keeps no body and no joint"
