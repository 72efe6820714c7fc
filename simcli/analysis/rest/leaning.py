"""Search of the equilibrium of a mechanism whose shapes can touch.

Steps solve the problem of a time step from rest, with the stiffness for the mass: over the directions y that joints leave,

    H dy = g + J^T x,    gap + J_n dy + c x_n >= 0  normal to  x_n >= 0,    friction against J_t dy within its cone

so that dy = 0 where forces that contacts may have balance all else, friction included. H is the stiffness with the absolute
values of its eigenvalues, each at least so large that no step is long. Then the contacts that press are held, and Newton's
steps over what they leave find the last digits.
"""

import numpy as np

from simcli.analysis.rest.equilibrium import (
    AS_IT_IS,
    BALANCED,
    KICK,
    LARGEST_STEP,
    MAX_ITERATIONS,
    Equilibrium,
    downhill_step,
    is_balanced,
    limited,
    newton_step,
    polished,
    residual_text,
    saddle_exit,
)
from simcli.analysis.rest.postures import NoEquilibriumError, Posture
from simcli.analysis.rest.rest_contacts import ROWS, RestContacts, balancing_forces, cone_forces, held_of
from simcli.analysis.rest.statics import Statics
from simcli.errors import UsageError
from simcli.model.tables.model import Array

TOUCHING_GAP = 1e-6  # typical lengths, gap of shapes that touch: numbers of a scene have some six digits
_NEARLY = 1e-4  # part of the loads that may be out of balance where contacts are held
PRESSED = 1e-7  # of the largest force: a contact with less carries nothing
_SHIFTS = 6
_OF_STEP = 1e-8  # relative error of the forces of a step
_LEAST = 1e-2  # of a step's least stiffness, as part of what keeps the loads within the longest step
_MOST_NEWTON = 50


def search_leaning(statics: Statics, stable: bool = False) -> Equilibrium:
    """The equilibrium near the initial state, with the contacts that press there.

    Args:
        statics: of the mechanism; the contacts that press are held there in the end.
        stable: leave saddles.

    Raises:
        NoEquilibriumError: none was found.
    """
    posture, downhill = statics.start(), stable
    for k in range(MAX_ITERATIONS):
        near = statics.contacts.near(posture.found.pose[0])
        rows = statics.contact_slopes(posture.found, near) @ posture.U
        if (found := settled(statics, posture, near, rows, _NEARLY)) is not None:
            more, after = found
            way = saddle_exit(statics.tangent(after), statics.noise(after)) if stable else None
            if way is None:
                return Equilibrium(after, k + more, *statics.residual(after))
            posture = _kicked(statics, after, KICK * way)
            continue
        if len(near):
            after = _moved(statics, posture, leaning_step(statics, posture, near, rows))
        else:
            K = statics.tangent(posture)
            after = None if downhill else newton_step(statics, posture, K)
            downhill = after is None
            after = after or downhill_step(statics, posture, K)
        if after is None:
            break
        posture = after
    raise NoEquilibriumError(
        f"no equilibrium was found near the initial state after {k + 1} iterations, with the contacts "
        f"of its shapes; without them {residual_text(statics, posture)}"
    )


def _kicked(statics: Statics, posture: Posture, step: Array) -> Posture:
    """A posture beside one, along directions that its contacts leave, with no contact held."""
    move = posture.U @ step
    statics.held = None
    free = statics.at(posture.q, posture.angle)
    along = np.linalg.lstsq(free.U / statics.unit[:, None], move / statics.unit, None)[0]
    return statics.moved(free, along) or free


def _moved(statics: Statics, posture: Posture, step: Array) -> Posture | None:
    for part in (1.0, 0.5, 0.25, 0.125):
        if (after := statics.moved(posture, part * step)) is not None:
            return after
    return None


def settled(statics: Statics, posture: Posture, near: RestContacts, rows: Array, part: float) -> tuple[int, Posture] | None:
    """The equilibrium with the contacts that press held, and the steps to it; None if the posture is none yet."""
    touching = np.abs(near.found.gap) <= max(TOUCHING_GAP, part) * statics.length
    if (near.found.gap < -TOUCHING_GAP * statics.length)[~touching].any():
        return None
    some, load = near.some(touching), posture.load
    refuse_compliant(statics, some)
    force = balancing_forces(some, rows[touching], load, statics.length)
    rest = load + np.einsum("cim,ci->m", rows[touching], force)
    scale = statics.loads(posture)[1]
    if np.linalg.norm(rest) > part * scale:
        return None
    pressed = force[:, 0] > PRESSED * np.abs(force[:, 0]).max(initial=0.0)
    statics.held = held_of(some.some(pressed)) if pressed.any() else None
    q, angle, worst = statics.closed(posture.q, posture.angle)
    after, k = statics.at(q, angle) if worst <= TOUCHING_GAP else None, 0
    while after is not None and not is_balanced(statics, after, BALANCED) and k < _MOST_NEWTON:
        after, k = newton_step(statics, after, statics.tangent(after)) if after.U.shape[1] else None, k + 1
    if after is not None and _keeps_apart(statics, after):
        after, more = polished(statics, after)
        return k + more, after
    statics.held = None
    return None


def refuse_compliant(statics: Statics, touching: RestContacts) -> None:
    """Refuse contacts that give way, which are springs that act to one side only.

    Raises:
        NoEquilibriumError: with the first of them.
    """
    yields = np.flatnonzero(touching.compliance > 0.0)
    if len(yields):
        names = touching.name(statics.model, int(yields[0]))
        raise NoEquilibriumError(
            f"{names} touch, and their contact is compliant, which statics do not support: set the "
            "`compliance` of the pair to 0"
        )


def _keeps_apart(statics: Statics, posture: Posture) -> bool:
    """Whether no shapes overlap."""
    gaps = statics.contacts.near(posture.found.pose[0]).found.gap
    return bool((gaps >= -TOUCHING_GAP * statics.length).all())


def leaning_step(statics: Statics, posture: Posture, near: RestContacts, rows: Array) -> Array:
    """The displacement of a step from rest, (m,)."""
    K, load = statics.tangent(posture), posture.load
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    touching = near.found.gap <= TOUCHING_GAP * statics.length
    held = balancing_forces(near.some(touching), rows[touching], load, statics.length, 0)
    rest = load + np.einsum("cim,ci->m", rows[touching], held)
    least = max(np.linalg.norm(rest), _LEAST * np.linalg.norm(load)) / LARGEST_STEP
    inverse = (vectors / np.maximum(np.abs(values), max(least, 1e-12))) @ vectors.T
    flat = rows.reshape(-1, rows.shape[2])
    seen = (flat @ (inverse @ load)).reshape(-1, ROWS)
    seen[:, 0] += near.found.gap
    force = cone_forces(near, flat @ inverse @ flat.T, seen, _SHIFTS, _OF_STEP)
    return limited(inverse @ (load + flat.T @ force.ravel()))


def initial_leaning(statics: Statics) -> Equilibrium:
    """The initial state, which has to be an equilibrium, with the contacts that press there.

    Raises:
        NoEquilibriumError: it is none.
    """
    posture = statics.start()
    near = statics.contacts.near(posture.found.pose[0])
    rows = statics.contact_slopes(posture.found, near) @ posture.U
    found = settled(statics, posture, near, rows, AS_IT_IS)
    if found is None:
        gap = residual_text(statics, posture)
        raise NoEquilibriumError(f"the initial state is no equilibrium, with the contacts of its shapes; without them {gap}")
    return Equilibrium(found[1], 0, *statics.residual(found[1]))


def grazing(statics: Statics, posture: Posture) -> str:
    """Shapes that touch without pressing, and that the others do not hold together; "" if there are none."""
    near = statics.contacts.near(posture.found.pose[0])
    touching = np.flatnonzero(np.abs(near.found.gap) <= TOUCHING_GAP * statics.length)
    rows = statics.contact_slopes(posture.found, near)[:, 0] @ posture.U if posture.U.shape[1] else np.zeros((len(near), 0))
    for k in touching:
        if np.abs(rows[k]).max(initial=0.0) > 1e-6:
            return near.name(statics.model, k)
    return ""


def refuse_touching(statics: Statics) -> None:
    """Refuse an initial state in which shapes touch, whose forces nobody has asked for.

    Raises:
        UsageError: with the first of them.
    """
    if statics.contacts is None:
        return
    near = statics.contacts.near(statics.start().found.pose[0])
    touching = np.flatnonzero(near.found.gap <= TOUCHING_GAP * statics.length)
    if len(touching):
        names = near.name(statics.model, int(touching[0]))
        raise UsageError(
            f"--unknown: {names} touch in the initial state, and forces of contacts would balance it, too: "
            "move them apart, or leave them out (contact.exclude)"
        )
