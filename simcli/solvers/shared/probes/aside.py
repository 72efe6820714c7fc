"""What steps go on from, and frames overwrite: set aside before a frame is worked out, put back before the next step.

Where frames evaluate their instant they show velocities that are projected, and forces and signals of that instant. Steps
go on from none of it: the motion and its ledger would depend, in their last digits, on how often they are shown.
"""

from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.pack_arrays import copy
from simcli.solvers.shared import needs


class Aside:
    """Copies of arrays.

    Args:
        c: core of a run whose frames evaluate their instant.
        arena: of the same worlds.

    Attributes:
        arrays: that frames write and steps read, of plain numbers.  copies: of them.
        n_driven, driven: numbers that signals drive, where a step closes the account of what they did (ledger.py).
    """

    _data_oriented = True

    def __init__(self, c, arena: Arena):
        self.arrays = list(c.forces.account.arrays)
        if c.constrained:
            self.arrays += [c.bound.system.laws.effort, c.bound.system.laws.lock]
        if c.is_natural:
            self.arrays += [c.state.qd, c.bound.impulse, c.bound.owes, c.bound.system.force]
        self.copies = [arena.array(array.n_items) for array in self.arrays]
        self.n_driven = c.signals.n_routes if c.closes_every_step else 0
        self.driven = arena.array(self.n_driven)


@needs.frames_aside
@ti.func
def set_aside(c: ti.template(), w: ti.i32):
    """Keep what the next step goes on from, where a frame begins.

    Writes: c.aside
    """
    for k in ti.static(range(len(c.aside.arrays))):
        copy(c.aside.copies[k], c.aside.arrays[k], c.aside.arrays[k].n_items, w)
    for n in range(c.aside.n_driven):
        c.aside.driven.store(w, n, c.signals.rows.load(w, c.signals.row.at(n)))


@needs.frames_aside
@ti.func
def go_on_from_aside(c: ti.template(), w: ti.i32):
    """Go on from it, whatever frames have shown.

    Reads:  c.aside
    Writes: what was set aside
    """
    for k in ti.static(range(len(c.aside.arrays))):
        copy(c.aside.arrays[k], c.aside.copies[k], c.aside.arrays[k].n_items, w)
    for n in range(c.aside.n_driven):
        c.signals.rows.store(w, c.signals.row.at(n), c.aside.driven.load(w, n))
