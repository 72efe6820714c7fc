"""How results look on the command line: tables for people."""

from pathlib import Path

import numpy as np

from simcli.cli import console

TABLE_STATES = 12  # shown to people; files and --json hold all
TABLE_COLUMNS = 10  # numbers of a matrix in a line
NUMBER_WIDTH = 12  # of six digits with sign and exponent


class ResultText:
    """The first states as tables.

    Args:
        task: what was computed.
        axes: of its result.
        with_world: name the world of each state.
    """

    def __init__(self, task, axes, with_world: bool, path: Path | None = None):
        self.task, self.axes, self.with_world = task, axes, with_world
        self.blocks: list[str] = []
        self.n_states = 0

    def __enter__(self) -> "ResultText":
        return self

    def __exit__(self, *_) -> None:
        pass

    def put(self, states, values: dict) -> None:
        """Keep what is shown."""
        if self.task.rows:
            self.put_rows(states, values)
            return
        for k in range(min(len(states), max(TABLE_STATES - self.n_states, 0))):
            lines = WRITERS[self.task.kind](self.axes, {name: values[name][k] for name in self.task.outputs})
            self.blocks.append("\n".join([self.title(states, k), *lines]))
        self.n_states += len(states)

    def title(self, states, k: int) -> str:
        """One state in words."""
        words = [f"world {states.world[k]}"] if self.with_world else []
        if np.isfinite(states.time[k]):
            words.append(f"t = {states.time[k]:g} s")
        return ", ".join(words) or f"state {states.frame[k]}"

    def put_rows(self, states, values: dict) -> None:
        """Keep what is shown of rows of which a state may have several."""
        edges = np.flatnonzero((np.diff(states.frame) != 0) | (np.diff(states.world) != 0)) + 1
        for rows in np.split(np.arange(len(states)), edges) if len(states) else ():
            if len(self.blocks) < TABLE_STATES:
                lines = WRITERS[self.task.kind](self.axes, {name: values[name][rows] for name in self.task.outputs})
                self.blocks.append("\n".join([self.title(states, rows[0]), *lines]))
            self.n_states += 1

    @property
    def body(self) -> str:
        """All tables."""
        more = self.n_states - len(self.blocks)
        rest = [f"... and {console.plural(more, 'state')} more: -o FILE or --json holds all"] if more else []
        return "\n\n".join([*self.blocks, *rest])


def _number(x: float) -> str:
    return "-" if x != x else f"{x + 0.0:.6g}"  # no minus before zero


def _rows(rows: list[tuple], header: tuple[str, ...]) -> list[str]:
    return console.table([tuple(_number(x) if isinstance(x, float) else x for x in row) for row in rows], header).split("\n")


def _vector(values) -> str:
    return "  ".join(f"{_number(x):>{NUMBER_WIDTH}}" for x in values.tolist())


def bodies_lines(axes, values: dict) -> list[str]:
    """Poses and twists."""
    pose, twist = values["body_q"], values["body_qd"]
    lines = _rows(
        [(name, _vector(pose[b, :3]), _vector(pose[b, 3:])) for b, name in enumerate(axes.label["B"])],
        ("body", "position x y z [m]", "orientation x y z w"),
    )
    lines += _rows(
        [(name, _vector(twist[b, :3]), _vector(twist[b, 3:])) for b, name in enumerate(axes.label["B"])],
        ("body", "velocity of the centre of mass [m/s]", "angular velocity [rad/s]"),
    )
    if axes.label["N"]:
        points = values["point_position"], values["point_velocity"]
        lines += _rows(
            [(name, *(_vector(a[n]) for a in points)) for n, name in enumerate(axes.label["N"])],
            ("point", "position [m]", "velocity [m/s]"),
        )
    return lines + (_acceleration_lines(axes, values) if "body_qdd" in values else [])


def _acceleration_lines(axes, values: dict) -> list[str]:
    """Accelerations of bodies and points."""
    change, of_points = values["body_qdd"], zip(axes.label["N"], values["point_acceleration"], strict=True)
    lines = _rows(
        [(name, _vector(change[b, :3]), _vector(change[b, 3:])) for b, name in enumerate(axes.label["B"])],
        ("body", "acceleration of the centre of mass [m/s^2]", "angular acceleration [rad/s^2]"),
    )
    points = [(name, _vector(a)) for name, a in of_points]
    return lines + (_rows(points, ("point", "acceleration [m/s^2]")) if points else [])


def joints_lines(axes, values: dict) -> list[str]:
    """Joint coordinates and rates, with the residuals of a projection or of a search."""
    if "search_status" in values:
        return search_lines(axes, values)
    q = zip(axes.label["NQ"], values["joint_q"].tolist(), axes.unit["q_unit"], strict=True)
    qd = zip(axes.label["NV"], values["joint_qd"].tolist(), axes.unit["qd_unit"], strict=True)
    units = {"position": "m", "angle": "rad", "velocity": "m/s", "spin": "rad/s"}
    residual = ", ".join(f"{values[f'residual_{name}']:.3g} {unit}" for name, unit in units.items())
    return [
        *_rows([*q], ("coordinate", "joint_q", "unit")),
        *_rows([*qd], ("dof", "joint_qd", "unit")),
        f"  residual: {residual}",
    ]


def search_lines(axes, values: dict) -> list[str]:
    """Joint coordinates of targets, with what is left of these."""
    from simcli.analysis.mechanics.target_tasks import SEARCH_STATUS

    at = {-1: "lower limit", 0: "", 1: "upper limit"}
    limits = dict(zip(axes.label["NV"], values["limit_state"].tolist(), strict=True))
    q = zip(axes.label["NQ"], values["joint_q"].tolist(), axes.unit["q_unit"], strict=True)
    rows = [(name, x, unit, at[limits.get(name, 0)]) for name, x, unit in q]
    gaps = ", ".join(f"{values[f'residual_{name}']:.3g} {unit}" for name, unit in (("position", "m"), ("angle", "rad")))
    status, count, start = (int(values[f"search_{name}"]) for name in ("status", "iterations", "start"))
    return [
        *_rows(rows, ("coordinate", "joint_q", "unit", "limit")),
        f"  {SEARCH_STATUS[status]}; residual: {gaps}; {console.plural(count, 'iteration')} of search {start}",
    ]


def efforts_lines(axes, values: dict) -> list[str]:
    """Efforts, beside the recorded ones if they are there."""
    columns = [values[name].tolist() for name in ("joint_effort", "recorded_effort") if name in values]
    header = ("dof", "effort", "recorded")[: 1 + len(columns)]
    lines = _rows([*zip(axes.label["NV"], *columns, axes.unit["effort_unit"], strict=True)], (*header, "unit"))
    if "joint_wrench" not in values:
        return lines
    rows = [
        (name, _vector(one[:3]), _vector(one[3:])) for name, one in zip(axes.label["J"], values["joint_wrench"], strict=True)
    ]
    return lines + _rows(rows, ("joint", "force on the child, world [N]", "torque about its anchor [N m]"))


def matrix_lines(axes, values: dict) -> list[str]:
    """A mass matrix."""
    return _grid(values["mass_matrix"], axes.label["NV"], axes.label["NV"])


def jacobian_lines(axes, values: dict) -> list[str]:
    """Six rows for each body."""
    lines = []
    for b, body in enumerate(axes.label["B"]):
        lines += _grid(values["jacobian"][b], [f"{body} {part}" for part in axes.label["twist"]], axes.label["NV"])
    return lines


def _grid(numbers, rows, columns) -> list[str]:
    """A matrix; wide ones in several strips."""
    lines, width = [], max([NUMBER_WIDTH, *map(len, columns)])
    for first in range(0, max(len(columns), 1), TABLE_COLUMNS):
        some = slice(first, first + TABLE_COLUMNS)
        cells = [
            (row, *(f"{_number(x):>{width}}" for x in line[some].tolist())) for row, line in zip(rows, numbers, strict=True)
        ]
        lines += _rows(cells, ("", *(f"{name:>{width}}" for name in columns[some])))
    return lines


def system_lines(axes, values: dict) -> list[str]:
    """Matrices and vectors of a system."""
    unknowns, rows, lines = axes.label["U"], axes.label["R"], []
    vectors = ("system_rate", "system_bias", "system_gravity")
    table = [(name, *(float(values[one][k]) for one in vectors)) for k, name in enumerate(unknowns)]
    lines += _rows(table, ("unknown", "rate v", "bias h", "gravity g"))
    titles = {"system_mass": "M", "system_coriolis": "C", "constraint_jacobian": "J", "geometric_stiffness": "K"}
    for field, title in titles.items():
        names = rows if field == "constraint_jacobian" else unknowns
        if rows or field.startswith("system"):
            lines += [f"  {title}", *_grid(values[field], names, unknowns)]
    forces = zip(rows, values["constraint_residual"].tolist(), values["constraint_force"].tolist(), strict=True)
    return lines + (_rows([*forces], ("constraint", "residual", "force")) if rows else [])


def contacts_lines(axes, values: dict) -> list[str]:
    """Contacts or near pairs of a state."""
    names = axes.label["H"]
    rows = [
        (names[a], names[b], f"{_number(gap):>{NUMBER_WIDTH}}", _vector(point), _vector(normal))
        for a, b, gap, point, normal in zip(
            *(values[f"contact_{name}"] for name in ("shape_a", "shape_b", "gap", "point", "normal")), strict=True
        )
    ]
    return _rows(rows, ("shape a", "shape b", f"{'gap [m]':>{NUMBER_WIDTH}}", "point x y z [m]", "normal, from a to b"))


def rays_lines(axes, values: dict) -> list[str]:
    """What rays meet in a state."""
    names = (*axes.label["H"], "-")
    rows = [
        (ray, f"{_number(x):>{NUMBER_WIDTH}}", names[shape], _vector(point), _vector(normal))
        for ray, x, shape, point, normal in zip(
            axes.label["Q"], *(values[f"ray_{name}"] for name in ("distance", "shape", "point", "normal")), strict=True
        )
    ]
    return _rows(rows, ("ray", f"{'distance [m]':>{NUMBER_WIDTH}}", "shape", "point x y z [m]", "normal"))


WRITERS = {
    "fk": bodies_lines,
    "ik": joints_lines,
    "id": efforts_lines,
    "mass-matrix": matrix_lines,
    "jacobian": jacobian_lines,
    "matrices": system_lines,
    "contacts": contacts_lines,
    "rays": rays_lines,
}
