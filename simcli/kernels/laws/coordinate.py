"""What acts on one coordinate, law by law: its force now, and how that changes with the coordinate and its rate.

A law is a function of the coordinate x and its rate v. It gives F(x, v), the stiffness k = -dF/dx, the damping c = -dF/dv
and the energy V(x) that it stores, F = -dV/dx - c v. Every stepper takes from these what it needs: `foresee` is all that an
implicit step knows of a law.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local


def foresee(effort, stiffness, damping, v, b):
    """Force of a law at the end of a time b, linear in the acceleration a: F(x + b v + b^2 a, v + b a) = push - gain a.

    Returns:
        push = F - b k v, and gain = b (c + b k).
    """
    return local(effort - stiffness * v * b), local((damping + stiffness * b) * b)


def foresee_again(stiffness, gain, moved, gained, b):
    """What the second node of an implicit step adds to the push of a law: 2 b k k1_q + 2 gain k1.

    Args:
        stiffness, gain: of the law in this stage, see `foresee`.
        moved, gained: k1_q and k1, what the first stage gave to the coordinate and to its rate.
    """
    return local((stiffness * moved * b + gain * gained) * 2.0)


def bound_law(fo, w, d, x, v):
    """Soft limit of a dof: F, k, c, V; zeros while the coordinate is between the bounds.

        F = k (bound - x) - c v     beyond a bound

    Source: joint limits of the Newton engine, which go before the drive. No deviation.
    """
    lower, upper = fo.soft_lower.load(w, d), fo.soft_upper.load(w, d)
    none = fo.stored.arena.zero()
    over = local(select(x < lower, none + lower, select(x > upper, none + upper, none + x)) - x)
    acts = local((x < lower) | (x > upper))
    stiffness = select(acts, none + fo.soft_stiffness.load(w, d), none)
    damping = select(acts, none + fo.soft_damping.load(w, d), none)
    return local(over * stiffness - v * damping), stiffness, damping, local(over * over * stiffness * 0.5)


def torsion_law(fo, w, d, x):
    """Torsion springs of a dof: F, k, V."""
    stiffness = fo.torsion.load(w, d)
    turn = local(fo.torsion_rest.load(w, d) - x)
    return local(turn * stiffness), stiffness, local(turn * turn * stiffness * 0.5 + fo.torsion_energy.load(w, d))


def servo_law(fo, w, d, x, v):
    """Drive of a dof, as if it had no effort limit and no soft limit acted: F, k, c.

    F = driving + k (target - x) + c (target_rate - v)
    """
    effort = local(fo.stored.arena.zero() + fo.driving.load(w, d))
    stiffness, damping = fo.stored.arena.zero(), fo.stored.arena.zero()
    if fo.has_drives:
        stiffness = local(stiffness + fo.stiffness.load(w, d))
        damping = local(damping + fo.rate_gain.load(w, d))
        effort = local(effort + (fo.target.load(w, d) - x) * stiffness + (fo.target_rate.load(w, d) - v) * damping)
    return effort, stiffness, damping


def spring_law(fo, w, k, length, rate):
    """Spring k between two points, along its length: its tension; a slack one never pushes.

        T = k (length - rest) + c rate     as if it acted; F = -T along the length

    Returns:
        Tension as if it acted; stiffness; damping; what is stored [J]; what the damper takes [W]; and a mask of where it
        acts. A slack spring that is stretched gives nothing while its damper would push: the damper takes what the spring
        gives.
    """
    none = fo.stored.arena.zero()
    stiffness, damping = local(none + fo.spring_stiffness.load(w, k)), local(none + fo.spring_damping.load(w, k))
    stretch = local(length - fo.rest_length.load(w, k))
    is_slack = local(none + ti.cast(fo.slack.at(k), fo.stored.arena.device.real) > 0.0)
    tension = local(stretch * stiffness + rate * damping)
    elastic = local(select(is_slack & (stretch <= 0.0), none, stretch * stiffness))
    acts = local(~is_slack | ((stretch > 0.0) & (tension > 0.0)))
    taken = local(select(acts, damping * rate, -elastic) * rate)
    return tension, stiffness, damping, local(stretch * elastic * 0.5), taken, acts
