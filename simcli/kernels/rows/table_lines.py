"""Lines through the points of tables, on the device: value, slope and integral without a search (model/forces/lines.py)."""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.model.forces.lines import bent_lines, ends_of_lines
from simcli.model.tables.model import Model


class TableLines:
    """Device columns of lines through the points of tables, see model/forces/lines.py.

    Args:
        count: of items.
        item, x, y: of the points.
        arena: receives the columns.
        is_held: whether lines are level beyond their ends.
    """

    _data_oriented = True

    def __init__(self, count: int, item: np.ndarray, x: np.ndarray, y: np.ndarray, arena: Arena, is_held: bool = False):
        lines = bent_lines(count, item, x, y)
        items, bends = arena.records(count), arena.records(lines.at.shape[1])
        self.value, self.slope, self.origin, self.begins = (
            items.column(one) for one in (lines.value, lines.slope, lines.origin, lines.begins)
        )
        self.start = arena.ints(lines.start)
        self.at, self.turn = bends.column(lines.at), bends.column(lines.turn)
        self.is_held = is_held
        if is_held:
            self.low, self.high = (items.column(one) for one in ends_of_lines(count, item, x))


def law_lines(table, owner: str, arena: Arena) -> tuple[TableLines | None, TableLines | None]:
    """Tensions by elongation and by rate of the springs, or ropes, of a table; None where none has one."""
    points = (
        (getattr(table, f"law_{owner}"), table.law_elongation, table.law_force),
        (getattr(table, f"damper_{owner}"), table.damper_rate, table.damper_force),
    )
    line, damper = (TableLines(len(table.name), *one, arena) if len(one[0]) else None for one in points)
    return line, damper


@ti.func
def value_on_line(c: ti.template(), w: ti.i32, k: ti.i32, x: ti.template()):
    """Value of line k at x, its slope, and its integral from 0 on; of a held one the value alone counts.

    Reads: c columns
    """
    zero = x * 0.0
    at = zero + x
    if ti.static(c.is_held):
        at = ti.max(ti.min(at, zero + c.high.load(w, k)), zero + c.low.load(w, k))
    reach = at - c.origin.load(w, k)
    slope = zero + c.slope.load(w, k)
    value = slope * reach + c.value.load(w, k)
    integral = (slope * reach * 0.5 + c.value.load(w, k)) * reach + c.begins.load(w, k)
    for m in range(c.start.at(k), c.start.at(k + 1)):
        past = ti.max(at - c.at.load(w, m), zero)
        turn = past * c.turn.load(w, m)
        value = value + turn
        integral = integral + turn * past * 0.5
        slope = slope + select(past > 0.0, zero + c.turn.load(w, m), zero)
    return value, slope, integral


def curves_of(model: Model, dofs: np.ndarray, arena: Arena) -> TableLines | None:
    """Effort limits by speed of drives of some dofs, (K,), an item each; None where none of them has one."""
    curves = model.effort_curves
    mine = np.isin(curves.dof, dofs)
    if not mine.any():
        return None
    item = np.array([int(np.argmax(dofs == d)) for d in curves.dof[mine].tolist()])
    return TableLines(len(dofs), item, curves.speed[:, mine], curves.effort[:, mine], arena, is_held=True)
