"""Springs between points of affine bodies: energies of the square roots of rows."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.forces.springs import spring_law
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local
from simcli.kernels.potentials.cables import length_of_spring, rate_of_spring
from simcli.kernels.potentials.potential_terms import PotentialTerms, carried_on, damper, mean_force
from simcli.kernels.potentials.tables import Potential
from simcli.kernels.rows.quadratic import find_rates

TINY_STIFFNESS = 1e-30  # [N/m], of a spring that is none


def spring_energies(p: Potential, w, k, length, alpha):
    """What spring k stores at a length, and what its damper does in the step.

    A slack one pulls with max(0, T), T = k (l - rest) + c l', whose energy is max(0, T)^2 / (2 (k + c alpha)); where it
    hung as the step began, its damper does not act. What is not stored is the damper's.
    """
    u, zero = p.forces.springs, length * 0.0
    stored, damped = PotentialTerms(zero), PotentialTerms(zero)
    is_slack = u.is_slack(k)
    still, _taken, pulls = spring_law(u, w, k, length, zero)
    stored.store(still.where(pulls))
    hangs = is_slack & (p.length.load(w, k) < u.rest_length.load(w, k))
    rate = local(select(hangs, zero, (length - p.length_past.load(w, k)) * alpha))
    law, _taken, _acts = spring_law(u, w, k, length, rate)
    damping = local(select(hangs, zero, law.damping))
    tension, steep = local(ti.max(-law.force, zero)), local(law.stiffness + damping * alpha)
    acts = local(select((tension > 0.0) & (steep > 0.0), zero + 1.0, zero))
    whole = tension * tension * 0.5 / ti.max(steep, TINY_STIFFNESS), tension, steep * acts
    parts = zip(whole, (stored.energy, stored.slope, stored.bend), damper(damping, rate, alpha), strict=True)
    damped.add(*(select(is_slack, all_of_it - kept, taken) for all_of_it, kept, taken in parts))
    return stored, damped


@ti.func
def find_springs(p: ti.template(), w: ti.i32, alpha: ti.template()):
    """[J] of springs and their dampers, after the residuals.

    Args:
        alpha: [1/s], (B).

    Reads:  p.rows.residual
    Writes: p.{elastic, length_now, slope, bend, damping}
    """
    total = p.gradient.arena.zero()
    for k in range(p.n_lengths):
        length = length_of_spring(p, w, k)
        stores, dampers = spring_energies(p, w, k, length, alpha.load(w, p.length_body.at(k)))
        total = total + stores.energy + dampers.energy
        p.elastic.store(w, 0, p.elastic.load(w, 0) + stores.energy)
        p.length_now.store(w, k, length)
        p.slope.store(w, k, stores.slope + dampers.slope)
        p.bend.store(w, k, stores.bend + dampers.bend)
        p.damping.store(w, k, dampers.slope)
    return total


@ti.func
def open_springs(p: ti.template(), w: ti.i32):
    """How long springs are at the start of a step: l_n is the length at the last evaluation.

    Writes: p.{length, length_before}
    """
    for k in range(p.n_lengths):
        p.length_before.store(w, k, p.length.load(w, k))
        p.length.store(w, k, p.length_now.load(w, k))


@ti.func
def measure_rates(p: ti.template(), w: ti.i32):
    """Rates of the springs' lengths, after `follow_rows`: of the initial state, whose formula knows no length before.

    Reads:  p.{length, rows}
    Writes: p.length_rate, p.rows.rate
    """
    find_rates(p.rows, w)
    for k in range(p.n_lengths):
        if ti.static(p.cables.n > 0):
            p.length_rate.store(w, k, rate_of_spring(p, w, k))
        else:
            p.length_rate.store(w, k, p.rows.rate.load(w, p.length_row.at(k)) * 0.5 / p.length.load(w, k))


@ti.func
def extrapolate_springs(p: ti.template(), w: ti.i32, weight: ti.template(), lead: ti.template()):
    """L_h = l_n + weight (l_n - l_(n-1)) + lead l_0'; lead is 0 but at t = 0.

    Args:
        weight: (B).

    Reads:  p.{length, length_before, length_rate}
    Writes: p.length_past
    """
    for k in range(p.n_lengths):
        length = p.length.load(w, k)
        past = carried_on(length, p.length_before.load(w, k), weight.load(w, p.length_body.at(k)))
        p.length_past.store(w, k, past + p.length_rate.load(w, k) * lead)


@ti.func
def spring_slopes(p: ti.template(), w: ti.i32, curve: ti.template()):
    """Derivatives of the springs' energies by the rows; see `find_slopes`.

    Reads:  p.{length_now, slope, bend}
    Writes: p.{first, second}
    """
    for k in range(p.n_lengths):
        row = p.length_row.at(k)
        length = p.length_now.load(w, k)
        p.first.store(w, row, p.slope.load(w, k) * 0.5 / length)
        bend = p.bend.load(w, k) - curve * p.slope.load(w, k) / length
        p.second.store(w, row, bend * 0.25 / (length * length))


@ti.func
def work_of_springs(p: ti.template(), w: ti.i32, weight: ti.template()):
    """[J] over the step: taken by their dampers, as `work_of_laws` has it.

    Reads:  p.{damping, length, length_now}, of the end of the step
    Writes: p.damping_before
    """
    dissipated = p.gradient.arena.zero()
    for k in range(p.n_lengths):
        pull = mean_force(p.damping, p.damping_before, w, k, weight.load(w, p.length_body.at(k)))
        dissipated = dissipated + ti.max(pull * (p.length_now.load(w, k) - p.length.load(w, k)), 0.0)
        p.damping_before.store(w, k, p.damping.load(w, k))
    return dissipated
