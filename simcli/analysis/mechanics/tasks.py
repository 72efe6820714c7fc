"""Tasks of the commands: states in, results out, by the rigid-body algorithms of the kernels. What all of them share.

    Forward       poses and twists of bodies, named points (rigid_body_tasks.py)
    Inverse       joint coordinates and rates nearest to poses and twists, and how far these are from what they say
    Efforts       efforts that a motion needs (rigid_body_tasks.py)
    Matrix        M(q)
    Jacobians     J(q)

All on the tree: a joint that closes a loop is read by none but `ik`, which projects onto every joint by itself.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from simcli.analysis.states.portions import States
from simcli.errors import UsageError
from simcli.model.joints.catalogue import TYPE_NAME
from simcli.model.joints.selection import BodyFlags, choose_selection, flagged
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.model import Array, JointKind, Model
from simcli.records.contents.results import FIELDS, ResultAxes, result_axes
from simcli.records.reading.named import unknown
from simcli.records.reading.reader import Trajectory

if TYPE_CHECKING:  # it brings Taichi, which a wrong input need not wait for
    from simcli.analysis.mechanics.rounds import Mechanics
    from simcli.kernels.algorithms import Algorithms


class Task(Protocol):
    """One command."""

    @property
    def kind(self) -> str:
        """Its name."""
        ...

    @property
    def start(self) -> str:
        """Whether it starts from coordinates ("joint") or from poses ("body")."""
        ...

    @property
    def balances(self) -> bool:
        """Whether forces and accelerations must belong to one instant, that at which a step took them."""
        ...

    @property
    def rows(self) -> str:
        """What a row of its result is, of which a state may have any number; "" where it is the state."""
        ...

    @property
    def needs_shapes(self) -> bool:
        """Whether it asks for shapes, of which models of runs have none otherwise."""
        ...

    @property
    def inputs(self) -> tuple[str, ...]:
        """Fields that it takes, names of `records.contents.results.FIELDS`."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """Fields of its result, of the same names."""
        ...

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Fields that it reads from a run; UsageError if it cannot serve this model."""
        ...

    def fitted(self, model: Model) -> Model:
        """The model to compute with."""
        ...

    def axes(self, model: Model) -> ResultAxes:
        """Axes of its result."""
        ...

    def algorithms(self, model: Model) -> "Callable[..., Algorithms]":
        """What computes."""
        ...

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """Its outputs for some states, `world` being the world of the model for each."""
        ...


_MOST_ROWS = 64  # of a state, where memory is reckoned


def width(task: Task, axes: ResultAxes) -> int:
    """Numbers per state that a task reads and writes, as far as axes tell."""
    return (_MOST_ROWS if task.rows else 1) * sum(prod(axes.tail(FIELDS[name])) for name in (*task.inputs, *task.outputs))


def field(states: States, name: str, shape: tuple[int, ...]) -> Array:
    """A field of states, zero where they do not hold it, (N, *shape)."""
    found = states.values.get(name)
    return np.zeros((len(states), *shape)) if found is None else found


class OnTree:
    """What tasks have in common that start from joint coordinates."""

    start = "joint"
    balances, needs_shapes, rows = False, False, ""
    inputs: tuple[str, ...] = ("joint_q", "joint_qd")

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Its inputs."""
        return self.inputs

    def fitted(self, model: Model) -> Model:
        """The model itself."""
        return model

    def algorithms(self, model: Model) -> "Callable[..., Algorithms]":
        """Those of rigid bodies."""
        from simcli.kernels.algorithms import Algorithms

        return Algorithms

    def axes(self, model: Model) -> ResultAxes:
        """All of the model."""
        return result_axes(model)


def of_worlds(column: Array, world: Array) -> Array:
    """Rows of a (W|1, ...) column for the worlds of states, (N|1, ...)."""
    return column[world] if len(column) > 1 else column


def of_kind(model: Model, flags: BodyFlags, among: Array | slice = np.s_[:]) -> tuple[Array, Array]:
    """Bodies of some kinds and the joints that place them, (B,) and (J,) bool.

    Raises:
        UsageError: no body `among` those asked for is of these kinds.
    """
    bodies, joints = flagged(model, flags)
    if model.n_bodies and not bodies[among].any():
        raise UsageError(f"--body-flags {flags.name.lower()}: none of the bodies asked for is of this kind")
    return bodies, joints


def chosen_bodies(model: Model, patterns: Sequence[str]) -> Array:
    """Bodies that patterns mean, all without patterns.

    Raises:
        UsageError: a pattern fits nothing.
    """
    if not patterns:
        return np.arange(model.n_bodies)
    for pattern in patterns:
        if not len(choose_selection(model, pattern)[0]):
            raise UsageError(f"--select: {unknown('body', pattern, model.bodies.name)}")
    return choose_selection(model, list(patterns))[0]


def loop_joints(model: Model) -> list[int]:
    """Joints that close loops; cables are forces."""
    joints = model.joints
    return [j for j in range(model.n_joints) if not joints.is_tree[j] and joints.kind[j] != JointKind.CABLE]


def loop_names(joints: Joints, loops: list[int]) -> str:
    """Loop joints in words."""
    return ", ".join(f"`{joints.name[j]}` ({TYPE_NAME[JointKind(joints.kind[j])]})" for j in loops[:4])
