"""Forces on links: of bushings and cables, springs between points, wrenches and drags, which know poses and twists only.

What acts between two links A and B has its columns and one function in a file of its own: `act` gives the force [N] and the
couple [N m] on B, A taking the opposite; the points at which they act, of each about its O; the powers that it dissipates
and supplies [W]; and what it stores [J]. What it measures, and its law, are inside. Its columns also say whether it
`stores`, whether it `damps`, whether rows carry it instead (`by_rows`), and whether steps that have no poses lack it
(`need_poses`).
"""

from simcli.kernels.algebra.values import Force, Vec3
from simcli.kernels.articulation.points import add_force
from simcli.kernels.language import ti


@ti.func
def load_links(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """Forces on links, their powers, and what they store.

    Reads:  fo.on_links, s.{R, o, v, origin}
    Writes: s.external, fo.{account.power, potential}
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    dissipated = zero
    supplied = zero
    potential = zero
    for i in range(t.n_links):
        s.external.store(w, i, Force.of(none, none))
    for u in ti.static(fo.on_links):
        for k in range(u.n):
            force, couple, x_a, x_b, loss, gain, energy = u.act(t, u, s, w, k)
            if ti.static(not u.by_rows):
                add_force(s, w, u.link_a.at(k), x_a, -force, -couple)
                add_force(s, w, u.link_b.at(k), x_b, force, couple)
            dissipated = dissipated + loss
            supplied = supplied + gain
            potential = potential + energy
    fo.account.set_power(w, dissipated, supplied)
    fo.potential.store(w, 0, potential)
