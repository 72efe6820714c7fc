"""Which worlds take the forces of joints along the directions where a step ends: solver `maximal`, `joint_direction: auto`.

Along the directions of its start a step is stable while h^2 f r / I is below about 4: f a force at the distance r from the
centre of a body of inertia I. The joints of a body can carry the weight of all bodies that hang together with it; what else
is in the scene changes nothing. Steps of one kind serve a whole batch, so that its worlds must agree: else a world would
move otherwise alone.
"""

from collections.abc import Callable, Sequence

import numpy as np

from simcli.errors import Fault, SceneError, Where
from simcli.model.bodies.massless import carrying
from simcli.model.tables import Array, Model
from simcli.model.tree.maximal_form import has_own_free_joint
from simcli.spec.schema.scene import MaximalSolver

STABLE = 0.5  # h^2 f r / I from which on directions turn


def directions_turn(model: Model, choice: str, h: float) -> bool:
    """Whether directions turn in the passes of a scene whose worlds agree.

    Args:
        model: in its maximal form.
        choice: auto, explicit or implicit.
        h: [s], step.
    """
    return bool(turning_worlds(model, h).any()) if choice == "auto" else choice == "implicit"


def turning_worlds(model: Model, h: float) -> Array:
    """Whether a step could turn a body too far by what its joints could carry, for each world: (W|1,).

    Args:
        model: in its maximal form or as the scene has it.
        h: [s], step.
    """
    carried = {step.joint for step in carrying(model)}
    holds = np.array([j not in carried and not has_own_free_joint(model, j) for j in range(model.n_joints)], bool)
    joints, bodies = model.joints, model.bodies
    g = np.linalg.norm(model.gravity, axis=-1)
    inertia = np.linalg.eigvalsh(bodies.inertia)[..., 1]  # that of a rod across it
    inertia = np.where(inertia > 0.0, inertia, np.inf)
    groups = _groups(inertia.shape[1], joints.parent, joints.child)
    worst = np.zeros(1)
    for j in np.flatnonzero(holds):
        for body, pose in ((joints.parent[j], joints.X_p[:, j]), (joints.child[j], joints.X_c[:, j])):
            if body >= 0:
                load = g * bodies.mass[:, groups == groups[body]].sum(axis=-1)  # [N]
                arm = np.linalg.norm(pose[..., :3] - bodies.com[:, body], axis=-1)
                worst = np.maximum(worst, arm * load / inertia[:, body])
    return worst * h * h > STABLE


def refuse_differing(model: Model, solver: MaximalSolver, where: Callable[[str], Where | None],
                     numbers: Sequence[int] | None = None) -> None:  # fmt: skip
    """Refuse a batch of which some worlds would take other steps of maximal coordinates than others.

    Args:
        model: of the worlds.
        solver: of the scene.
        where: place of a dotted path.
        numbers: of the worlds in their batch; None counts from 0.

    Raises:
        SceneError: SC645.
    """
    turning = turning_worlds(model, solver.dt) if solver.joint_direction == "auto" else np.zeros(1, bool)
    if turning.any() and not turning.all():
        one, other = (int(k) if numbers is None else numbers[int(k)] for k in (np.argmax(turning), np.argmin(turning)))
        message = (f"loads on light bodies in world {one} are too heavy for `joint_direction: explicit` with dt = "
                   f"{solver.dt:g} s, but not those in world {other}, and all worlds of a batch use the same")  # fmt: skip
        hint = "write `joint_direction: implicit` in `solver`, which suits both, or a smaller `dt`"
        raise SceneError([Fault("SC645", message, where("solver"), hint)])


def _groups(n: int, parent: Array, child: Array) -> Array:
    """A number for each body, one for those that joints hold together, not by way of the world."""
    group = np.arange(n)
    for a, b in zip(parent.tolist(), child.tolist(), strict=True):
        if a >= 0 and b >= 0:
            group[group == group[a]] = group[b]
    return group
