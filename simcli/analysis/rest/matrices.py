"""Matrices of a mechanism at a state, in joint, maximal or natural coordinates.

    M a + h = F + J^T lambda,   J a = -J' v,   K = -d(J^T lambda)/dx

h is what velocities and gravity need, C v + g; F are the forces of the scene, and lambda the forces in the constraints that
hold, those of the motion of the state: of least norm where constraints are redundant. K is their geometric stiffness, the
part of them in the stiffness of `modes`. v are the velocities of the unknowns x, and d/dx goes along these.

C is bilinear: C(v) u = (h(v + u) - h(v) - h(u) + g) / 2, which makes C(v) v what velocities need, and where v are the rates
of coordinates the matrix of the Christoffel symbols, so that M' - 2 C is skew.

Notation: n unknowns, R constraint equations. J' v and K are differences of J of fourth order. In natural coordinates the
equations are polynomials of second degree, phi = c + b x + x H x / 2, so that J is affine in x and K = -sum lambda H.

Source: Garcia de Jalon and Bayo (1994), chapter 5. Deviation: derivatives by differences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.mechanics.tasks import OnTree
from simcli.analysis.mechanics.tasks import field as field_of
from simcli.analysis.rest.postures import linear_dofs, typical_length
from simcli.analysis.states.portions import States
from simcli.errors import OutputError, UsageError
from simcli.kernels.algorithms import Algorithms
from simcli.kernels.balance import Balance
from simcli.kernels.device.runtime import Device
from simcli.model.constraints.constraint_tables import start_angles
from simcli.model.forms.maximal_form import FREE_SUFFIX, combined, maximal_form
from simcli.model.forms.natural_coordinates import LETTERS
from simcli.model.forms.natural_form import natural_form
from simcli.model.forms.polynomials import Forms, Polynomial, expand_holding
from simcli.model.joints.state import State
from simcli.model.tables.model import Array, Model
from simcli.output_channels import XYZ
from simcli.records.contents.layout import COMPONENTS
from simcli.records.contents.results import U2, ResultAxes, result_axes
from simcli.records.reading.reader import Trajectory
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.base.patterns import matching

if TYPE_CHECKING:
    from simcli.analysis.mechanics.rounds import Mechanics

FORMS = {"generalized": lambda model, _: model, "maximal": maximal_form, "natural": natural_form}
_WIDTH = 2e-3  # of a difference, in radians or typical lengths: its error of order four is near rounding then
_STEPS, _WEIGHTS = np.array([1.0, -1.0, 2.0, -2.0]), np.array([8.0, -8.0, -1.0, 1.0]) / 12.0
_RANK = 1e-11  # singular values below this part of the largest are redundancy
MATRICES = ("system_mass", "system_coriolis", "constraint_jacobian", "geometric_stiffness")


class Formed:
    """A model of one world in some coordinates.

    Args:
        model: in the form of the scene.
        kind: of `FORMS`.
        device: from `start_device`, in float64.

    Attributes:
        form: its tables.
        dof: (n,), of the unknowns in those of the form.
        q_of: coordinates of the form that the unknowns move.
        row_label: of the constraint equations that hold.
    """

    def __init__(self, model: Model, kind: str, device: Device):
        self.model, self.kind = model, kind
        whole = combined(model)
        self.form = FORMS[kind](whole, State.of(whole))
        small = device.for_worlds(1)
        self.balance, self.algorithms = Balance(self.form, small), Algorithms(self.form, small)
        self.dof = self.balance.dof
        joints = self.form.joints
        self.q_of = np.flatnonzero(np.repeat(joints.is_tree, np.diff(joints.q_start)))
        holds = np.flatnonzero(self.balance.holds)
        self.rows, self.row_label = holds, tuple(self.balance.row_label[r] for r in holds)
        unit = np.where(linear_dofs(self.form)[self.dof], typical_length(model), 1.0)
        self.width = _WIDTH * unit
        self.is_free = self.form.motions.kind[self.dof] == 0
        self.polynomials: list[Polynomial] | None = None
        if kind == "natural":
            self.polynomials = expand_holding(Forms(self.form), self.balance.constraints, self.balance.holds)
            self.curvature = np.array([self._hessian(one) for one in self.polynomials]).reshape(-1, *2 * [len(self.dof)])

    @property
    def unknown_label(self) -> tuple[str, ...]:
        """Of the unknowns: the coordinate of a joint; of a body alone its twist; in natural coordinates x and u, v, w."""
        dofs, joints = self.form.dofs, self.form.joints
        return tuple(self._of_body(dofs.label[d], int(d - joints.qd_start[dofs.joint[d]]), "twist") for d in self.dof)

    @property
    def coordinate_label(self) -> tuple[str, ...]:
        """Of the coordinates that the unknowns move."""
        starts = self.form.joints.q_start
        place = self.q_of - starts[np.searchsorted(starts, self.q_of, "right") - 1]
        return tuple(self._of_body(self.form.dofs.q_label[i], int(k), "pose") for i, k in zip(self.q_of, place, strict=True))

    def _of_body(self, label: str, place: int, kind: str) -> str:
        """A label of a joint of the scene, or of the coordinates that a body has alone."""
        name, mark, _ = label.partition(FREE_SUFFIX)
        if not mark:
            return label
        if self.kind != "natural":
            names = COMPONENTS[kind]
            return f"{name}.{names[place]}" if place < len(names) else label
        return f"{name}.{('', *(f'{letter}.' for letter in LETTERS))[place // 3]}{XYZ[place % 3]}"

    def _hessian(self, row: "Polynomial") -> Array:
        H = np.zeros((len(self.dof), len(self.dof)))
        for (i, j), value in row.curvature().items():
            H[i, j] = H[j, i] = value[0]
        return H

    def placed(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Coordinates and velocities of the form at those of the scene."""
        whole = combined(replace(self.model, joint_q=q[None], joint_qd=qd[None]))
        form = FORMS[self.kind](whole, State.of(whole))
        return form.joint_q[0], form.joint_qd[0]

    def matrices(self, q: Array, v: Array, time: float, chosen: Array) -> dict[str, Array]:
        """All matrices of a state.

        Args:
            q: of the form.
            v: of the form.
            time: [s], of signals.
            chosen: constraint equations of which K is, among those that hold.
        """
        v_of = v[self.dof]
        angle = start_angles(self.balance.constraints, replace(self.form, joint_q=q[None]))[0]
        found = self.balance(q, rate=v_of[None], angle=angle, time=time)
        M, residual, J = self.balance.mass(found), found.residual[0][self.rows], self.balance.jacobian(found)[self.rows]
        if self.polynomials is not None:
            x = np.array([q[self._place(d)] for d in self.dof])
            values = [row.at(x) for row in self.polynomials]
            residual = np.array([value for value, _ in values])
            J = np.array([slope for _, slope in values]).reshape(-1, len(x))
        bias, gravity, coriolis = self._bias(q, v)
        force = self._multipliers(M, J, found.effort[0], self._drift(q, v_of, angle))
        kept = np.where(chosen, force, 0.0)
        return {
            "system_q": q[self.q_of],
            "system_rate": v_of,
            "system_mass": M,
            "system_bias": bias,
            "system_gravity": gravity,
            "system_coriolis": coriolis,
            "constraint_residual": residual[chosen],
            "constraint_jacobian": J[chosen],
            "constraint_force": force[chosen],
            "geometric_stiffness": self._stiffness(q, angle, kept),
        }

    def _place(self, dof: int) -> int:
        """Coordinate of a natural unknown."""
        joint = self.form.dofs.joint[dof]
        return int(self.form.joints.q_start[joint] + dof - self.form.joints.qd_start[joint])

    def _bias(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """h, g, C."""
        n, rates = len(self.dof), np.zeros((2 * len(self.dof) + 2, len(v)))
        size = max(float(np.abs(v[self.dof]).max(initial=0.0)), 1.0)
        rates[1] = v
        rates[2 : 2 + n, self.dof] = size * np.eye(n)
        rates[2 + n :] = rates[2 : 2 + n] + v
        h = self.algorithms.inverse_dynamics(np.tile(q, (len(rates), 1)), rates, 0.0 * rates)[:, self.dof]
        C = (h[2 + n :] - h[1] - h[2 : 2 + n] + h[0]) / (2.0 * size)
        return h[1], h[0], C.T

    def _jacobians(self, q: Array, moves: Array, angle: Array) -> Array:
        """J of the rows that hold at moves (N, n) from a state, (N, R, n)."""
        found = self.balance(q, move=moves, angle=angle)
        each = (replace(found, entry=found.entry[k : k + 1]) for k in range(len(moves)))
        return np.array([self.balance.jacobian(one)[self.rows] for one in each]).reshape(len(moves), -1, len(self.dof))

    def _drift(self, q: Array, v: Array, angle: Array) -> Array:
        """J' v."""
        if self.polynomials is not None:
            return np.einsum("rij,i,j->r", self.curvature, v, v)
        speed = float(np.abs(v / self.width).max(initial=0.0))
        if speed == 0.0 or not len(self.rows):
            return np.zeros(len(self.rows))
        J = self._jacobians(q, _STEPS[:, None] * v / speed, angle)
        return np.einsum("k,krn,n->r", _WEIGHTS, J, v) * speed

    def _stiffness(self, q: Array, angle: Array, force: Array) -> Array:
        """K, (n, n): column k is along unknown k."""
        n = len(self.dof)
        if self.polynomials is not None:
            return -np.einsum("rij,r->ij", self.curvature, force)
        if not len(self.rows):
            return np.zeros((n, n))
        moves = np.einsum("k,ij->ikj", _STEPS, np.diag(self.width)).reshape(-1, n)
        pulls = (np.swapaxes(self._jacobians(q, moves, angle), 1, 2) @ force).reshape(n, len(_STEPS), n)
        return -(np.einsum("k,ikn->ni", _WEIGHTS, pulls) / self.width)

    def _multipliers(self, M: Array, J: Array, effort: Array, drift: Array) -> Array:
        """[N, N m], of the motion: what is prescribed goes on at its rate."""
        free, n = self.is_free, int(self.is_free.sum())
        if not len(J):
            return np.zeros(0)
        unit = self.width[free] / _WIDTH
        A, W = J[:, free] * unit, M[np.ix_(free, free)] * np.outer(unit, unit)
        scale = np.sqrt(max(np.abs(W).max(initial=0.0), 1e-300))
        size = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
        A = A / size[:, None]
        system = np.block([[W / scale**2, -A.T], [A, np.zeros((len(A), len(A)))]])
        given = np.concatenate((effort[free] * unit / scale**2, -drift / size))
        return np.linalg.lstsq(system, given, _RANK)[0][n:] * scale**2 / size

    def close(self) -> None:
        """Free the device memory."""
        self.balance.close()
        self.algorithms.destroy()


@dataclass
class Matrices(OnTree):
    """Matrices of each state.

    Attributes:
        coordinates: of `FORMS`.
        select: patterns of constraint equations, or of the joints that have them; none for all.
        folder: where sparse matrices are written, None for nowhere.
    """

    coordinates: str
    select: tuple[str, ...] = ()
    folder: Path | None = None
    formed: Formed | None = field(default=None, repr=False)
    n_written: int = 0
    kind = "matrices"
    outputs = (
        "system_q",
        "system_rate",
        "system_mass",
        "system_bias",
        "system_gravity",
        "system_coriolis",
        "constraint_residual",
        "constraint_jacobian",
        "constraint_force",
        "geometric_stiffness",
    )

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Coordinates and rates.

        Raises:
            UsageError: the worlds differ.
        """
        if model.n_worlds > 1:
            raise UsageError("matrices are of one world of a batch: say which with --world I")
        return self.inputs

    def axes(self, model: Model) -> ResultAxes:
        """With the unknowns and constraint equations."""
        from simcli.kernels.device.runtime import live_device

        if self.formed is None:
            self.formed = Formed(model, self.coordinates, live_device())
        formed, axes = self.formed, result_axes(model)
        unknowns, coordinates = formed.unknown_label, formed.coordinate_label
        rows = tuple(label for label, one in zip(formed.row_label, self.chosen(), strict=True) if one)
        return replace(axes, label={**axes.label, "U": unknowns, U2: unknowns, "X": coordinates, "R": rows})

    def chosen(self) -> Array:
        """(R,) bool, constraint equations that are given.

        Raises:
            UsageError: a pattern fits none.
        """
        labels = self.formed.row_label
        if not self.select:
            return np.ones(len(labels), bool)
        found = np.zeros(len(labels), bool)
        owners = [label.rpartition(":")[0] for label in labels]
        for pattern in self.select:
            places = {*matching(labels, pattern), *matching(owners, pattern)}
            if not places:
                raise UsageError(f"--select {pattern}: no constraint; {did_you_mean(pattern, owners, 'constraints')}")
            found[list(places)] = True
        return found

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """M, h, C, g, J, the forces in the constraints, and K."""
        model, chosen = mechanics.model, self.chosen()
        qd, parts = field_of(states, "joint_qd", (model.n_qd,)), []
        for k in range(len(states)):
            place = self.formed.placed(states.values["joint_q"][k], qd[k])
            parts.append(self.formed.matrices(*place, float(np.nan_to_num(states.time[k])), chosen))
        found = {name: np.array([part[name] for part in parts]) for name in self.outputs}
        if self.folder is not None:
            for one in parts:
                write_sparse(self.folder, self.n_written, one)
                self.n_written += 1
        return found

    def close(self) -> None:
        """Free the device memory."""
        if self.formed is not None:
            self.formed.close()


def write_sparse(folder: Path, number: int, found: Mapping[str, Array], names: Sequence[str] = MATRICES) -> None:
    """Write the matrices of a state as `scipy.sparse.load_npz` reads them, NAME.NUMBER.npz each.

    Raises:
        OutputError: a file cannot be written.
    """
    for name in names:
        matrix = found[name]
        row, column = np.nonzero(matrix)
        start = np.searchsorted(row, np.arange(len(matrix) + 1)).astype(np.int32)
        parts = {"indices": column.astype(np.int32), "indptr": start, "format": np.array(b"csr")}
        try:
            np.savez_compressed(folder / f"{name}.{number}.npz", shape=matrix.shape, data=matrix[row, column], **parts)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written: {error}") from error


def refuse_affine(kind: str) -> None:
    """Refuse coordinates of bodies that yield, which have no constraint equations.

    Raises:
        UsageError: these are asked for.
    """
    if kind not in FORMS:
        raise UsageError(
            f"matrices in {kind} coordinates: bodies that yield have energies in place of constraint equations; choose "
            f"--coordinates {', '.join(FORMS)}"
        )
