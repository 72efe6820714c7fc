"""ArticulationView: some articulations of all worlds, as arrays of one shape."""

from collections.abc import Sequence

import numpy as np

from simcli.analysis.mechanics.evaluate import bench_of, eval_fk, eval_ik
from simcli.analysis.mechanics.view_data import ViewData
from simcli.model.groups import Filters, find_group
from simcli.model.joints.selection import BodyFlags
from simcli.model.joints.state import State
from simcli.model.tables.model import Array, JointKind, Model
from simcli.spec.base.patterns import Pattern


class ArticulationView(ViewData):
    """Articulations of one structure, selected by name, read and written without counting indices.

    Every array has the axes (world, articulation in the world, item, ...), W and C long. Getters return copies; setters
    broadcast their values and take a `mask` of the view, (W,) or (W, C).

        model, state = simcli.load("robots.yaml")
        arms = simcli.ArticulationView(model, "row/*")
        q = arms.get_dof_positions(state)              # (W, C, n)
        q[..., 0] += 0.1
        arms.set_dof_positions(state, q)
        arms.eval_fk(state)

    Joints stand in the order of the scene, but the root's joint first, and its body first among the links. Names are those
    of the first articulation, without the path that all of them share. The page `docs/selection.md` has more examples.

    Args:
        model: the tables of all worlds. They are read-only: what a setter changes stands in `view.model`.
        pattern: names of articulations: a glob, a list of globs, a compiled regex, or ascending numbers.
        include_joints: names or patterns of joints that are shown; with `include_joint_types` the union, without either
            all.
        exclude_joints: of joints that are left out.
        include_links: of links that are shown; default all.
        exclude_links: of links that are left out.
        include_joint_types: joint types that are shown: JointKind, their numbers, or names as `"revolute"`.
        exclude_joint_types: joint types that are left out.
        include_loop_closing_joints: show joints that close loops inside an articulation, after the others.

    Raises:
        KeyError: nothing fits the pattern, or an included name.
        ValueError: the articulations differ in structure, or a pattern is none.

    Source: the interface of Newton's class of this name. Deviations: the worlds of a
    model are alike, so that counts per world never differ; the model is replaced, not changed in place.
    """

    def __init__(
        self,
        model: Model,
        pattern: Pattern,
        include_joints: Pattern | None = None,
        exclude_joints: Pattern | None = None,
        include_links: Pattern | None = None,
        exclude_links: Pattern | None = None,
        include_joint_types: Sequence[JointKind | int | str] | None = None,
        exclude_joint_types: Sequence[JointKind | int | str] | None = None,
        include_loop_closing_joints: bool = False,
    ):
        filters = Filters(
            include_joints,
            exclude_joints,
            include_links,
            exclude_links,
            include_joint_types,
            exclude_joint_types,
            include_loop_closing_joints,
        )
        super().__init__(model, find_group(model, pattern, filters))

    def eval_fk(
        self, state: State, mask: object = None, indices: Sequence[int] | None = None, body_flag_filter: int = BodyFlags.ALL
    ) -> None:
        """Forward kinematics of whole articulations: body_q and body_qd from joint_q and joint_qd.

        Args:
            state: written in place; bodies that are not selected keep their values.
            mask: (W,) or (W, C) bool; not together with `indices`.
            indices: numbers w C + c of articulations of the view; those that do not exist are ignored.
            body_flag_filter: sum of `BodyFlags`; bodies of other kinds keep their values.

        Raises:
            ValueError: mask and indices are both given, a shape is wrong, or a flag is none.
        """
        eval_fk(self._model, state, self._model_mask(mask, indices), body_flag_filter=body_flag_filter)

    def eval_ik(
        self, state: State, mask: object = None, indices: Sequence[int] | None = None, body_flag_filter: int = BodyFlags.ALL
    ) -> None:
        """Projection of whole articulations: joint_q and joint_qd from body_q and body_qd, each joint by itself.

        Args:
            state: written in place; joints that are not selected keep their values.
            mask: (W,) or (W, C) bool; not together with `indices`.
            indices: numbers w C + c of articulations of the view; those that do not exist are ignored.
            body_flag_filter: sum of `BodyFlags`; joints that place bodies of other kinds keep their values.

        Raises:
            ValueError: mask and indices are both given, a shape is wrong, or a flag is none.
        """
        eval_ik(self._model, state, self._model_mask(mask, indices), body_flag_filter=body_flag_filter)

    def eval_jacobian(
        self, state: State, mask: object = None, indices: Sequence[int] | None = None, out: Array | None = None
    ) -> Array:
        """Jacobians of the links: J qd stacks the velocities of `get_link_velocities`.

        Args:
            state: of this model; only its joint_q is read.
            mask: as of `eval_fk`.
            indices: as of `eval_fk`.
            out: written in place, its rows that are not selected keep their values; zeros if left out.

        Returns:
            [1, m], (W, C, 6 link_count, joint_dof_count), six rows per link: velocity of the centre of mass, angular
            velocity, world. Zero columns for joints that close loops.

        Raises:
            ValueError: mask and indices are both given, or a shape is wrong.
        """
        J = bench_of(self._model).algorithms.jacobian(self._checked(state).joint_q)
        parts = [J[:, bodies][..., dofs] for bodies, dofs in zip(self.group.body, self.group.qd, strict=True)]
        rows = np.stack(parts, axis=1)
        return self._filled(rows.reshape(*rows.shape[:2], -1, rows.shape[-1]), mask, indices, out)

    def eval_mass_matrix(
        self,
        state: State,
        mask: object = None,
        indices: Sequence[int] | None = None,
        out: Array | None = None,
        armature: bool = True,
    ) -> Array:
        """Joint-space mass matrices.

        Args:
            state: of this model; only its joint_q is read.
            mask: as of `eval_fk`.
            indices: as of `eval_fk`.
            out: as of `eval_jacobian`.
            armature: with the armature of the joints on the diagonal; Newton's matrix is without.

        Returns:
            [kg, kg m, kg m^2], (W, C, joint_dof_count, joint_dof_count), symmetric.

        Raises:
            ValueError: mask and indices are both given, or a shape is wrong.
        """
        M = bench_of(self._model).algorithms.mass_matrix(self._checked(state).joint_q)
        if not armature:
            M = M - self._model.dofs.armature[:, :, None] * np.eye(self._model.n_qd)
        parts = [M[:, dofs[:, None], dofs] for dofs in self.group.qd]
        return self._filled(np.stack(parts, axis=1), mask, indices, out)

    def eval_inverse_dynamics(
        self,
        state: State,
        joint_qdd: object = 0.0,
        mask: object = None,
        indices: Sequence[int] | None = None,
        out: Array | None = None,
    ) -> Array:
        """Efforts that give the joints their accelerations against inertia and gravity.

            f = M qdd + C(q, qd) qd + g(q)

        Args:
            state: of this model; its joint_q and joint_qd are read.
            joint_qdd: [m/s^2, rad/s^2], broadcast to (W, C, joint_dof_count); joints that are not shown do not
                accelerate.
            mask: as of `eval_fk`.
            indices: as of `eval_fk`.
            out: as of `eval_jacobian`.

        Returns:
            [N, N m], (W, C, joint_dof_count); NaN for joints that close loops.

        Raises:
            ValueError: mask and indices are both given, or a shape is wrong.
        """
        self._checked(state)
        qdd = np.zeros_like(state.joint_qd)
        qdd[:, self.group.qd] = joint_qdd
        efforts = bench_of(self._model).algorithms.inverse_dynamics(state.joint_q, state.joint_qd, qdd)
        return self._filled(efforts[:, self.group.qd], mask, indices, out)

    def eval_inverse_dynamics_passive(
        self, state: State, mask: object = None, indices: Sequence[int] | None = None
    ) -> tuple[Array, Array]:
        """The two parts of the efforts at zero acceleration: what holds against gravity, and what velocities ask for.

        Args:
            state: of this model; its joint_q and joint_qd are read.
            mask: as of `eval_fk`.
            indices: as of `eval_fk`.

        Returns:
            g(q) and C(q, qd) qd, [N, N m], each (W, C, joint_dof_count), zero where not selected.

        Raises:
            ValueError: mask and indices are both given, or a shape is wrong.
        """
        at_rest = state.copy()
        at_rest.joint_qd[...] = 0.0
        holding = self.eval_inverse_dynamics(at_rest, mask=mask, indices=indices)
        return holding, self.eval_inverse_dynamics(state, mask=mask, indices=indices) - holding

    def _filled(self, values: Array, mask: object, indices: object, out: Array | None) -> Array:
        """Values where the view's mask is set; elsewhere what `out` holds, or zeros."""
        where = self._mask(mask, indices)
        out = np.zeros(values.shape) if out is None else out
        if out.shape != values.shape:
            raise ValueError(f"`out` must have shape {values.shape}, not {out.shape}")
        np.copyto(out, values, where=True if where is None else where.reshape(*where.shape, *[1] * (values.ndim - 2)))
        return out
