"""What worlds begin with: all numbers of a run before its first frame, from which some of its worlds begin anew.

Most of them are the same in all worlds; those that are not stand here for each world, with the coordinates and velocities.
Columns of tables are no part of it: what was set there holds. What does not change between calls of a kernel is handed over
once (`ReadyCalls`).

A block is put to its start as a whole, takes the frame of the start, and its worlds that go on take back what they had: so
that stages need no masks, and no byte depends on who begins beside whom. Blocks without a world that begins are not touched.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.notes import words_of_age
from simcli.kernels.language.backend import program
from simcli.kernels.language.calls import ReadyLaunch
from simcli.model.tables.model import Model
from simcli.solvers.run.rollout import keep_blocks, keep_others, put_starts

_BEFORE = 2  # arguments before a kernel's own: the memory and the core


class ReadyCalls:
    """Calls of the kernels of a stepper.

    Args:
        stepper: whose core they are given.
    """

    def __init__(self, stepper):
        self._arena, self._core, self._device = stepper.arena, stepper.core, stepper.device
        self._ready: dict[tuple, tuple[ReadyLaunch, tuple]] = {}

    def call(self, kernel, *args, way: tuple = ()) -> None:
        """Call a kernel as `Arena.launch` does.

        Args:
            kernel: of Taichi, whose first argument is the core.
            args: its other arguments, of the kinds of the first call; arrays live until the next call.
            way: which of several sets of arguments, of a kernel that is called with them in turn.
        """
        if self._device.is_gpu:
            self._arena.launch(kernel, self._core, *args)
            return
        ready, last = self._ready.get((kernel, *way), (None, ()))
        if ready is None or ready.program is not program():
            ready, last = self._arena.ready(kernel, self._core, *args), args
        given = {k: one for k, (one, before) in enumerate(zip(args, last, strict=True), _BEFORE) if one is not before}
        self._ready[kernel, *way] = ready, args
        self._arena.launch_ready(ready, given)


class Beginnings:
    """The numbers of a run before its first frame.

    Args:
        stepper: that has not begun.
        calls: of its kernels.

    Attributes:
        own_rows: packs of a block that differ between worlds.  own: (W with the idle lanes, own_rows), what is in them.
    """

    def __init__(self, stepper, calls: ReadyCalls):
        self._arena, self._device, self._calls = stepper.arena, stepper.device, calls
        arena: Arena = stepper.arena
        q, qd = stepper.core.state.q.rows, stepper.core.state.qd.rows
        wide = np.concatenate([q, qd, *(array.rows for array in arena.wide)])
        is_state = np.ones(arena.n_rows, bool)
        for array in (*stepper.core.tables.arena.filled, stepper.core.anew, *stepper.core.ages.arrays):
            is_state[array.rows] = False
        rows = np.flatnonzero(is_state)
        differs = np.isin(rows, wide)
        self._rows, self.own_rows = (one.astype(np.int32) for one in (rows[~differs], rows[differs]))
        self._common = arena.storage.read_first(self._rows)
        self.own = arena.read_rows(self.own_rows)
        self._own_now = self.own.copy()  # but for worlds that begin elsewhere
        self._world_of_lane = np.minimum(np.arange(len(self.own)), arena.n_worlds - 1)
        given = self._rows, self._common, self.own_rows, self._own_now.reshape(-1)
        self._given = [self._device.given(one) for one in given]
        self._state_rows, self._mark_row = np.concatenate([q, qd]), stepper.core.anew.rows
        self._state_places = np.searchsorted(self.own_rows, self._state_rows)
        self._age_rows = np.concatenate([np.zeros(0, int), *(array.rows for array in stepper.core.ages.arrays)])
        self._kept = np.empty(1, self._device.dtype)
        self.read_marks()

    @contextmanager
    def put(self, worlds: np.ndarray, model: Model | None = None) -> Iterator[tuple[np.ndarray, tuple]]:
        """Let some worlds stand before their first frame; those of a CPU do so in the call of `rollout` that takes it.

        Args:
            worlds: (W,) bool, those that begin.
            model: of these worlds alone, in the form of the steps, with coordinates and velocities that they begin with
                instead of those of the scene.

        Yields:
            The blocks with such worlds, and what `rollout` is to put there; in those that come first some worlds go on.
        """
        self.mark(worlds)
        lanes, state = None, None
        if model is not None:
            lanes, row = self._lanes(worlds)
            n = int(worlds.sum())
            state = [np.broadcast_to(one, (n, one.shape[1])) for one in (model.joint_q, model.joint_qd)]
            state = np.concatenate(state, axis=1)[row]
            state[np.isnan(state)] = 0.0
        if self._device.is_gpu:
            self._calls.call(put_starts, *self._given)
            if model is not None:
                self._write(self._state_rows, lanes, state)
            yield self._device.given(self._blocks(worlds)[1]), ()
            return
        if model is not None:
            self._own_now[lanes[:, None], self._state_places] = state
        mixed, whole = self._blocks(worlds)
        try:
            yield np.concatenate([mixed, whole]), (*self._given, self._room_for(mixed.size))
        finally:
            if model is not None:
                self._own_now[lanes] = self.own[lanes]

    def chosen(self, worlds: np.ndarray):
        """Tell kernels which worlds they are for, (W,) bool; gives the blocks with such worlds, as kernels take them."""
        self.mark(worlds)
        return self._device.given(np.concatenate(self._blocks(worlds)))

    def _blocks(self, worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Blocks with some worlds that begin, (W,) bool, and with others, and blocks of which all begin."""
        by_block = self._of_lanes(worlds).reshape(self._arena.n_blocks, -1)
        some, all_of_it = by_block.any(axis=1), by_block.all(axis=1)
        return np.flatnonzero(some & ~all_of_it).astype(np.int32), np.flatnonzero(all_of_it).astype(np.int32)

    def _room_for(self, n_blocks: int) -> np.ndarray:
        """Room for what so many blocks have."""
        size = n_blocks * self._arena.stride * self._device.lanes
        if self._kept.size < size:
            self._kept = np.empty(size, self._device.dtype)
        return self._kept[:size] if size else self._kept[:1]

    def mark(self, worlds: np.ndarray) -> None:
        """Tell kernels which worlds they are for.

        Args:
            worlds: (W,) bool.
        """
        lanes = self._of_lanes(worlds)
        changed = np.flatnonzero(lanes != self._marked)
        self._write(self._mark_row, changed, lanes[changed, None])
        self._marked = lanes.copy()  # of the caller

    def read_marks(self) -> None:
        """Look which worlds kernels are for, after something else has written the memory."""
        self._marked = self._arena.read_rows(self._mark_row)[:, 0] != 0.0

    def set_ages(self, worlds: np.ndarray, began: np.ndarray, episode: np.ndarray) -> None:
        """Tell kernels since when worlds have been there.

        Args:
            worlds: (W,) bool.
            began: (W,) steps before each world began.
            episode: (W,).
        """
        if self._age_rows.size:
            lanes = np.flatnonzero(self._of_lanes(worlds))
            own = self._world_of_lane[lanes]
            self._write(self._age_rows, lanes, words_of_age(began[own], episode[own]))

    def _write(self, rows: np.ndarray, lanes: np.ndarray, values: np.ndarray) -> None:
        """Set packs of some lanes, (lanes, rows)."""
        if lanes.size and len(rows):
            self._arena.storage.write_worlds(rows, lanes, values.astype(self._device.dtype))

    def choose(self, worlds: np.ndarray) -> tuple | None:
        """Tell kernels which worlds they are for, and keep what others of the same blocks have.

        Args:
            worlds: (W,) bool.

        Returns:
            What `give_back` needs.
        """
        self.mark(worlds)
        blocks, _ = self._blocks(worlds)
        if not blocks.size:  # a GPU has one world in a block
            return None
        others = blocks, self._room_for(blocks.size)
        self._calls.call(keep_blocks, *others)
        return others

    def set_columns(self, rows: np.ndarray, worlds: np.ndarray, values: np.ndarray) -> None:
        """Set packs of some worlds.

        Args:
            rows: (n,), their numbers.
            worlds: (W,) bool.
            values: (worlds, n), of these.
        """
        lanes, row = self._lanes(worlds)
        self._write(rows, lanes, values[row])

    def _lanes(self, worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lanes of some worlds, (W,) bool, and for each of them which of these worlds it is."""
        lanes = np.flatnonzero(self._of_lanes(worlds))
        return lanes, np.searchsorted(np.flatnonzero(worlds), self._world_of_lane[lanes])

    def _of_lanes(self, worlds: np.ndarray) -> np.ndarray:
        """What is of each world, (W,), of each lane: idle lanes are like the last world."""
        return worlds if len(worlds) == len(self._world_of_lane) else worlds[self._world_of_lane]

    def give_back(self, others: tuple | None) -> None:
        """Give worlds of the same blocks that were not chosen what they had."""
        if others is not None:
            self._calls.call(keep_others, *others)
