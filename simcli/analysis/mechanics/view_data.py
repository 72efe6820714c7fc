"""What an ArticulationView reads and writes: columns of a state, and numbers of its model."""

import numpy as np

from simcli import rotations as rot
from simcli.analysis.mechanics.evaluate import chosen_worlds
from simcli.analysis.mechanics.view_shape import ViewShape
from simcli.model.joints.edit import with_column
from simcli.model.joints.state import State, middle_of_limits
from simcli.model.tables.model import WORLD, Array, Model

STATE_AXES = {"joint_q": "q", "joint_qd": "qd", "joint_f": "qd", "body_q": "body", "body_qd": "body"}
TABLE_AXES = {"bodies": "body", "joints": "joint", "dofs": "qd"}
FLAT_NAMES = {"body": ("bodies",), "joint": ("joints", "dofs"), "dof": ("dofs",)}


class ViewData(ViewShape):
    """Columns cut to the articulations of a view: (W, C, n, ...). Getters return copies, setters broadcast."""

    def get_attribute(self, name: str, source: State | Model) -> Array:
        """A column of a state or of a model, cut to the view.

        Args:
            name: joint_q, joint_qd, joint_f, body_q, body_qd; of a model also its columns, as `dofs.limit_lower`,
                `joints.X_p`, `bodies.mass` or in one word `dof_limit_lower`, `joint_X_p`, `body_mass`.
            source: a state of this model, or the model.

        Returns:
            [as the column], (W, C, n, ...), of n coordinates, dofs, joints or links.

        Raises:
            KeyError: there is no such column.
            ValueError: the state is not of this model.
        """
        _, column, items = self._column(name, source)
        return np.array(np.broadcast_to(column, (self.world_count, *column.shape[1:]))[:, items])

    def set_attribute(self, name: str, target: State | Model, values: object, mask: object = None) -> None:
        """Write a column of a state in place, or of the view's model: then `view.model` is another one.

        Args:
            name: as of `get_attribute`; of the model numbers only, not the structure.
            target: a state of this model, or `view.model`.
            values: [as the column], broadcast to (W, C, n, ...).
            mask: (W,) or (W, C) bool, where they are written; None for everywhere.

        Raises:
            KeyError: there is no such column.
            ValueError: the target is another model, the column decides the structure, or a shape is wrong.
        """
        path, column, items = self._column(name, target)
        if isinstance(target, State):
            self._write(column, items, values, mask)
            return
        if target is not self._model:
            raise ValueError("this is not the view's model: set the attributes of `view.model`")
        full = np.array(np.broadcast_to(column, (self.world_count, *column.shape[1:])))
        self._write(full, items, values, mask)
        self._replace(path, column, full)

    def get_dof_positions(self, state: State) -> Array:
        """Joint coordinates, [m, rad, 1], (W, C, joint_coord_count)."""
        return self.get_attribute("joint_q", state)

    def set_dof_positions(self, state: State, values: object, mask: object = None) -> None:
        """Write joint coordinates, [m, rad, 1], broadcast to (W, C, joint_coord_count); `mask` as of `set_attribute`."""
        self.set_attribute("joint_q", state, values, mask)

    def get_dof_velocities(self, state: State) -> Array:
        """Joint velocities, [m/s, rad/s], (W, C, joint_dof_count)."""
        return self.get_attribute("joint_qd", state)

    def set_dof_velocities(self, state: State, values: object, mask: object = None) -> None:
        """Write joint velocities, [m/s, rad/s], broadcast to (W, C, joint_dof_count); `mask` as of `set_attribute`."""
        self.set_attribute("joint_qd", state, values, mask)

    def get_dof_forces(self, state: State) -> Array:
        """Joint efforts, [N, N m], (W, C, joint_dof_count)."""
        return self.get_attribute("joint_f", state)

    def set_dof_forces(self, state: State, values: object, mask: object = None) -> None:
        """Write joint efforts, [N, N m], broadcast to (W, C, joint_dof_count); `mask` as of `set_attribute`."""
        self.set_attribute("joint_f", state, values, mask)

    def get_link_transforms(self, state: State) -> Array:
        """Poses of the body frames, px py pz qx qy qz qw, [m, 1], (W, C, link_count, 7), world."""
        return self.get_attribute("body_q", state)

    def get_link_velocities(self, state: State) -> Array:
        """Velocities of the centres of mass and angular velocities, [m/s, rad/s], (W, C, link_count, 6), world."""
        return self.get_attribute("body_qd", state)

    def get_root_transforms(self, state: State) -> Array:
        """Poses of the roots.

        Args:
            state: of this model.

        Returns:
            [m, 1], (W, C, 7), px py pz qx qy qz qw. Floating base: the first seven coordinates, child anchor in parent
            anchor. Any other base: the anchor of its joint on the world.

        Raises:
            ValueError: an articulation has several roots, or, without a floating base, one that hangs on a body.
        """
        source, items = self._root_places(state)
        return np.array(source[:, items])

    def set_root_transforms(self, state: State, values: object, mask: object = None) -> None:
        """Move articulations: everything that hangs on a root goes with it. Call `eval_fk` afterwards.

        A floating base moves in the state. Any other base moves in `view.model`, where its anchor stands; so do the
        anchors on the world of joints that close loops, if the view includes them.

        Args:
            state: of this model.
            values: [m, 1], broadcast to (W, C, 7), as of `get_root_transforms`; quaternions are made unit.
            mask: (W,) or (W, C) bool, where they are written; None for everywhere.

        Raises:
            ValueError: as of `get_root_transforms`; or a shape is wrong, or a quaternion is zero.
        """
        source, items = self._root_places(state)
        old = source[:, items]
        new = np.array(np.broadcast_to(np.asarray(values, float), old.shape))
        if not np.any(new[..., 3:], axis=-1).all():
            raise ValueError("a quaternion is zero; the identity is 0 0 0 1")
        new[..., 3:] = rot.unit(new[..., 3:])
        where = self._mask(mask)
        new = new if where is None else np.where(where[..., None], new, old)
        if self.is_floating_base:
            state.joint_q[:, items] = new
            return
        X_p = np.array(source)
        X_p[:, items] = new
        for c, loops in enumerate(self.group.loop if self.group.shows_loops else ()):
            ground = loops[self._model.joints.parent[loops] == WORLD]
            shift = rot.pose_compose(new[:, c], rot.pose_inverse(old[:, c]))
            X_p[:, ground] = rot.pose_compose(shift[:, None], X_p[:, ground])
        self._replace("joints.X_p", self._model.joints.X_p, X_p)

    def get_root_velocities(self, state: State) -> Array | None:
        """Velocities of floating bases.

        Args:
            state: of this model.

        Returns:
            [m/s, rad/s], (W, C, 6), velocity of the root body's centre of mass and angular velocity, parent anchor frame;
            None if the base does not float.

        Raises:
            ValueError: an articulation has several roots.
        """
        places = self._root_rates()
        return None if places is None else self._checked(state).joint_qd[:, places]

    def set_root_velocities(self, state: State, values: object, mask: object = None) -> None:
        """Write the velocities of floating bases; nothing for other bases.

        Args:
            state: of this model.
            values: [m/s, rad/s], broadcast to (W, C, 6), as of `get_root_velocities`.
            mask: (W,) or (W, C) bool, where they are written; None for everywhere.

        Raises:
            ValueError: an articulation has several roots, or a shape is wrong.
        """
        places = self._root_rates()
        if places is not None:
            self._write(self._checked(state).joint_qd, places, values, mask)

    def center_joint_q(self, state: State, mask: object = None) -> None:
        """Put coordinates half way between their limits; those that lack a limit, and quaternions, keep their values.

        Args:
            state: of this model; only its joint_q is written.
            mask: (W,) or (W, C) bool; None for all.

        Raises:
            ValueError: the mask has another shape.
        """
        middle = np.broadcast_to(middle_of_limits(self._model), self._checked(state).joint_q.shape)[:, self.group.q]
        self.set_dof_positions(state, np.where(np.isnan(middle), self.get_dof_positions(state), middle), mask)

    def get_model_articulation_mask(self, mask: object = None) -> Array:
        """Mask of the model's articulations for `simcli.eval_fk` and `eval_ik`.

        Args:
            mask: (W,) or (W, C) bool, of the view; None for all of it.

        Returns:
            (W A,) bool, of A articulations in each world; False for those that the view does not show.

        Raises:
            ValueError: the mask has another shape.
        """
        return self._model_mask(mask).ravel()

    def _model_mask(self, mask: object = None, indices: object = None) -> Array:
        where = self._mask(mask, indices)
        full = np.zeros((self.world_count, len(self._model.joints.articulation_name)), bool)
        full[:, self.group.articulation] = True if where is None else where
        return full

    def _mask(self, mask: object = None, indices: object = None) -> Array | None:
        w, c = self.world_count, self.count_per_world
        return chosen_worlds((w, c), mask, indices, {(w,): (w, 1)})

    def _checked(self, state: State) -> State:
        state.check(self._model)
        return state

    def _write(self, column: Array, items: Array, values: object, mask: object) -> None:
        """Write values to the items (C, n) of a column (W, N, ...)."""
        where, old = self._mask(mask), column[:, items]
        new = np.broadcast_to(np.asarray(values, column.dtype), old.shape)
        if where is not None:
            new = np.where(where.reshape(*where.shape, *[1] * (old.ndim - 2)), new, old)
        column[:, items] = new

    def _column(self, name: str, source: State | Model) -> tuple[str, Array, Array]:
        """Path, values (W|1, N, ...) and items (C, n) of a column.

        Raises:
            KeyError: there is none.
        """
        if isinstance(source, State):
            if name not in STATE_AXES:
                raise KeyError(f"a state has no `{name}`: there are {', '.join(STATE_AXES)}")
            return name, getattr(self._checked(source), name), getattr(self.group, STATE_AXES[name])
        if name in ("joint_q", "joint_qd", "joint_f"):
            return name, getattr(source, name), getattr(self.group, STATE_AXES[name])
        first, dot, rest = name.partition(".")
        tables = (first,) if dot else FLAT_NAMES.get(name.partition("_")[0], ())
        rest = rest if dot else name.partition("_")[2]
        for table in tables:
            column = getattr(getattr(source, table, None), rest, None) if table in TABLE_AXES else None
            if isinstance(column, np.ndarray):
                items = getattr(self.group, TABLE_AXES[table])
                return f"{table}.{rest}", column if column.dtype.kind == "f" else column[None], items
        raise KeyError(f"a model has no column `{name}` of bodies, joints or dofs")

    def _replace(self, path: str, old: Array, new: Array) -> None:
        """Another model with a new column; shared by all worlds if the old one was and the worlds agree."""
        agree = len(old) == 1 and np.array_equal(new, np.broadcast_to(new[:1], new.shape), equal_nan=True)
        self._model = with_column(self._model, path, new[:1] if agree else new)

    def _root_places(self, state: State) -> tuple[Array, Array]:
        """Where the poses of the roots stand: a column (W, N[, 7]) and its items."""
        self._checked(state)
        roots, joints = self._roots(), self._model.joints
        if self.is_floating_base:
            return state.joint_q, joints.q_start[roots][:, None] + np.arange(7)
        for name, root in zip(self.articulation_names, roots, strict=True):
            if joints.parent[root] != WORLD:
                raise ValueError(f"the articulation `{name}` hangs on a body, not on the world")
        return np.broadcast_to(joints.X_p, (self.world_count, *joints.X_p.shape[1:])), roots

    def _root_rates(self) -> Array | None:
        if not self.is_floating_base:
            return None
        return self._model.joints.qd_start[self._roots()][:, None] + np.arange(6)
