"""Search of the static equilibrium near a state.

Newton on the loads over the directions that the rows leave, with a line search on their size; once that finds no way, or if
a stable equilibrium is asked for, steps go down in energy: the stiffness with the absolute values of its eigenvalues, and
a line search on the work of the loads. Once the loads vanish and the stiffness still has a negative eigenvalue, such
a search leaves the saddle along it.
"""

from dataclasses import dataclass

import numpy as np

from simcli.analysis.rest.postures import NoEquilibriumError, Posture
from simcli.analysis.rest.statics import Statics
from simcli.model.tables.model import Array

BALANCED = 1e-9  # residual relative to the loads of the mechanism that a search ends at
AS_IT_IS = 1e-6  # likewise, of a state that is taken as it stands: numbers of a scene have some six digits
MAX_ITERATIONS = 200
LARGEST_STEP = 0.3  # xi of one step
POLISH = 4  # Newton steps beyond BALANCED, while they help
NEWTON_HALVINGS, _HALVINGS = 5, 14  # a Newton step that has to be shorter goes nowhere
DECREASE = 1e-4  # part of the promised decrease that a step has to give
_FLAT = 1e-10  # eigenvalues of the stiffness below this part of the largest are no slope
SADDLE = 1e6  # roundings of forces per stiffness that a saddle is told by; differences over a narrow width enlarge them
KICK = 0.05  # xi by which a saddle is left


@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium.

    Attributes:
        posture: where.
        iterations: steps that it took.
        force: [N], largest out of balance.
        torque: [N m], likewise.
    """

    posture: Posture
    iterations: int
    force: float
    torque: float


def is_balanced(statics: Statics, posture: Posture, part: float) -> bool:
    """True if what is out of balance is a small part of what the mechanism carries."""
    gaps, loads = statics.residual(posture), statics.loads(posture)
    return all(gap <= part * load for gap, load in zip(gaps, loads, strict=True))


def as_it_is(statics: Statics) -> Equilibrium:
    """The initial state, which has to be an equilibrium.

    Raises:
        NoEquilibriumError: it is none.
    """
    posture = statics.start()
    if not is_balanced(statics, posture, AS_IT_IS):
        raise NoEquilibriumError(f"the initial state is no equilibrium: {residual_text(statics, posture)}")
    return Equilibrium(posture, 0, *statics.residual(posture))


def search_equilibrium(statics: Statics, stable: bool = False) -> Equilibrium:
    """The equilibrium near the initial state.

    Args:
        statics: of the mechanism.
        stable: go down in energy all the way, and leave saddles.

    Raises:
        NoEquilibriumError: none was found; with what is out of balance where the search ended.
    """
    posture, downhill = statics.start(), stable
    for k in range(MAX_ITERATIONS):
        K = statics.tangent(posture)
        if is_balanced(statics, posture, BALANCED):
            way = saddle_exit(K, statics.noise(posture)) if stable else None
            if way is None:
                posture, more = polished(statics, posture)
                return Equilibrium(posture, k + more, *statics.residual(posture))
            after = statics.moved(posture, KICK * way)
        else:
            after = None if downhill else newton_step(statics, posture, K)
            downhill = after is None
            after = after or downhill_step(statics, posture, K)
        if after is None:
            break
        posture = after
    raise NoEquilibriumError(
        f"no equilibrium was found near the initial state after {k + 1} iterations: {residual_text(statics, posture)}"
    )


def residual_text(statics: Statics, posture: Posture) -> str:
    """What is out of balance, in words."""
    (force, torque), (push, turn) = statics.residual(posture), statics.loads(posture)
    parts = [(force, "N", push, statics.moves), (torque, "N m", turn, ~statics.moves)]
    gap, unit, load, mine = max(parts, key=lambda part: part[0] / (part[2] or 1.0))
    worst = int(np.where(mine, np.abs(posture.effort), -1.0).argmax())
    label = statics.model.dofs.label[statics.balance.dof[worst]]
    return f"{gap:.3g} {unit} are out of balance along `{label}`, where the mechanism carries up to {load:.3g} {unit}"


def newton_step(statics: Statics, posture: Posture, K: Array) -> Posture | None:
    """One Newton step, halved until the loads shrink; None if they do not."""
    step = limited(np.linalg.lstsq(K, posture.load, _FLAT)[0])
    size, part = np.linalg.norm(posture.load), 1.0
    for _ in range(NEWTON_HALVINGS):
        after = statics.moved(posture, part * step)
        if after is not None and np.linalg.norm(after.load) <= (1.0 - DECREASE * part) * size:
            return after
        part *= 0.5
    return None


def downhill_step(statics: Statics, posture: Posture, K: Array) -> Posture | None:
    """One step along which the loads do work: energy falls, if there is one; None if there is no such step."""
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    size = np.maximum(np.abs(values), _FLAT * np.abs(values).max(initial=0.0))
    if not size.any():
        size = np.ones_like(size) * np.linalg.norm(posture.load) / LARGEST_STEP
    step = limited(vectors @ (vectors.T @ posture.load / size))
    promised, part = step @ posture.load, 1.0
    for _ in range(_HALVINGS):
        half, whole = statics.moved(posture, 0.5 * part * step), statics.moved(posture, part * step)
        if half is not None and whole is not None:
            pulls = [promised, *(pull_along(after, posture.U @ step, statics.unit) for after in (half, whole))]
            if np.dot((1.0, 4.0, 1.0), pulls) / 6.0 >= DECREASE * promised > 0.0:
                return whole
        part *= 0.5
    return None


def pull_along(after: Posture, displacement: Array, unit: Array) -> float:
    """Work of the loads of a posture per displacement, as far as its rows let it go."""
    N = after.U / unit[:, None]
    return float(after.load @ (N.T @ (displacement / unit)))


def limited(step: Array) -> Array:
    """A step no longer than LARGEST_STEP."""
    return step * LARGEST_STEP / max(np.linalg.norm(step), LARGEST_STEP)


def saddle_exit(K: Array, noise: float) -> Array | None:
    """The direction of the most negative eigenvalue of the stiffness, None if there is none.

    Args:
        K: (m, m), from `Statics.tangent`.
        noise: [N m], of the forces that were differenced.
    """
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    if not len(values) or values[0] >= -max(1e-12 * np.abs(values).max(), SADDLE * noise):
        return None
    return vectors[:, 0]


def polished(statics: Statics, posture: Posture) -> tuple[Posture, int]:
    """Newton steps for the last digits, and how many of them helped."""
    for k in range(POLISH):
        if not posture.load.any():
            return posture, k
        step = np.linalg.lstsq(statics.tangent(posture), posture.load, _FLAT)[0]
        after = statics.moved(posture, limited(step))
        if after is None or np.linalg.norm(after.load) > 0.5 * np.linalg.norm(posture.load):
            return posture, k
        posture = after
    return posture, POLISH
