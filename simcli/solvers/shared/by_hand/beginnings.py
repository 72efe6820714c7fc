"""What worlds begin with: all numbers of a run before its first frame, from which some of its worlds begin anew.

Most of them are the same in all worlds; those that are not stand here for each world, with the coordinates and velocities.
Columns of tables are no part of it: what was set there holds.

A block is put to its start as a whole, takes the frame of the start, and its worlds that go on take back what they had: so
that stages need no masks, and no byte depends on who begins beside whom. Blocks without a world that begins are not touched.
"""

import numpy as np

from simcli.kernels.memory.arena import Arena
from simcli.model.tables import Model
from simcli.solvers.shared.rollout import keep_blocks, keep_others, put_starts

_FEW = 32  # blocks whose packs the host copies in less time than a kernel takes to begin


class Beginnings:
    """The numbers of a run before its first frame.

    Args:
        stepper: that has not begun.

    Attributes:
        own_rows: packs of a block that differ between worlds.  own: (own_rows, W with the idle lanes), what is in them.
    """

    def __init__(self, stepper):
        self._core, self._arena, self._device = stepper.core, stepper.arena, stepper.device
        arena: Arena = stepper.arena
        self._n_rows = arena.n_rows
        q, qd = stepper.core.state.q.rows, stepper.core.state.qd.rows
        wide = np.concatenate([q, qd, *(slot.rows for slot in arena.wide)])
        is_state = np.ones(arena.n_rows, bool)
        for slot in (*stepper.core.tables.arena.filled, stepper.core.anew, *stepper.core.ages.slots):
            is_state[slot.rows] = False
        rows = np.flatnonzero(is_state)
        differs = np.isin(rows, wide)
        self._rows, self.own_rows = (one.astype(np.int32) for one in (rows[~differs], rows[differs]))
        self._common = arena.storage.read_first(self._rows)
        self.own = np.ascontiguousarray(arena.read_rows(self.own_rows).T)
        self._places = [np.searchsorted(self.own_rows, one) for one in (q, qd)]
        self._world_of_lane = np.minimum(np.arange(self.own.shape[1]), arena.n_worlds - 1)
        self._given = [self._device.given(one) for one in (self._rows, self._common, self.own_rows)]
        self._own_given = self._device.given(self.own)

    def put(self, worlds: np.ndarray, model: Model | None = None) -> None:
        """Let blocks with worlds that begin, which `choose` was told, stand before their first frame.

        Args:
            worlds: (W,) bool, those that begin.
            model: of these worlds alone, in the form of the steps, with coordinates and velocities that they begin with
                instead of those of the scene.
        """
        lanes = worlds[self._world_of_lane]
        own = self._own_given if model is None else self._device.given(self._with(lanes, worlds, model))
        self._arena.launch(put_starts, self._core, *self._given, own)

    def choose(self, worlds: np.ndarray) -> tuple | None:
        """Tell kernels which worlds they are for, and keep what others of the same blocks have.

        Args:
            worlds: (W,) bool.

        Returns:
            What `give_back` needs.
        """
        self._core.anew.write(worlds[:, None, None])
        by_block = worlds[self._world_of_lane].reshape(self._arena.n_blocks, -1)
        mixed = by_block.any(axis=1) & ~by_block.all(axis=1)
        blocks = np.flatnonzero(mixed)
        if blocks.size <= _FEW:
            return (blocks, (by_block[blocks], self._arena.storage.read_blocks(blocks))) if blocks.size else None
        places = np.where(mixed, np.cumsum(mixed) - 1, -1).astype(np.int32)
        kept = np.empty(int(mixed.sum()) * self._n_rows * self._device.lanes, self._device.dtype)
        self._arena.launch(keep_blocks, self._core, self._n_rows, places, kept)  # of a CPU: a GPU has one world in a block
        return places, kept

    def set_columns(self, rows: np.ndarray, worlds: np.ndarray, values: np.ndarray) -> None:
        """Set packs of some worlds.

        Args:
            rows: (n,), their numbers.
            worlds: (W,) bool.
            values: (W|1, n), of all worlds.
        """
        lanes = np.flatnonzero(worlds[self._world_of_lane])
        wide = np.broadcast_to(values, (len(worlds), len(rows)))[self._world_of_lane[lanes]]
        self._arena.storage.write_worlds(rows, lanes, wide.astype(self._device.dtype))

    def _with(self, lanes: np.ndarray, worlds: np.ndarray, model: Model) -> np.ndarray:
        """`own` with other coordinates and velocities."""
        own, n = self.own.copy(), int(worlds.sum())
        row = (np.cumsum(worlds) - 1)[self._world_of_lane[lanes]]  # of the model, by lane that begins
        for places, values in zip(self._places, (model.joint_q, model.joint_qd), strict=True):
            wide = np.broadcast_to(np.nan_to_num(values), (n, values.shape[1]))
            own[np.ix_(places, lanes)] = wide[row].T
        return own

    def give_back(self, others: tuple | None) -> None:
        """Give worlds of the same blocks that were not chosen what they had."""
        if others is None:
            return
        places, kept = others
        if isinstance(kept, np.ndarray):
            self._arena.launch(keep_others, self._core, self._n_rows, places, kept)
            return
        begin, before = kept
        storage = self._arena.storage
        storage.write_blocks(places, np.where(begin[:, None], storage.read_blocks(places), before))
