"""How two runs are compared piece by piece: pairs of frames, rising numbers, extremes, tiles; against the whole at once."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcli.analysis.diff import frame_pairs, rising_numbers
from simcli.analysis.diff.extremes import Extremes, Tolerance
from simcli.analysis.diff.frame_pairs import Align, pair_frames
from simcli.analysis.diff.rising_numbers import RisingNumbers
from simcli.errors import FileError, UsageError
from simcli.records.reading import tiles
from simcli.records.reading.tiles import cut_frames, cut_worlds, tile_lengths


class Instants:
    """What the pairing of frames asks a run for."""

    def __init__(self, step, dt):
        self.path, self.n_frames = "run.h5", len(step)
        self._columns = {"frames/step": np.array(sorted(step)), "frames/time": np.array(sorted(step)) * dt}

    def column(self, name):
        return self._columns[name]


STEPS = st.sets(st.integers(0, 120), min_size=1) | st.builds(lambda n, every: set(range(0, n * every, every)),
                                                              st.integers(1, 60), st.integers(1, 7))  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mine=STEPS, theirs=STEPS, dt=st.sampled_from([1e-3, 5e-4, 7e-4]), align=st.sampled_from(Align),
       at_once=st.integers(1, 9))  # fmt: skip
def test_pairs_found_block_by_block_are_those_of_all_frames(mine, theirs, dt, align, at_once):
    a, b = Instants(mine, 1e-3), Instants(theirs, dt)
    x, y = (run.column(f"frames/{align}") for run in (a, b))
    nothing = 1e-9 if max(len(x), len(y)) > 1 else 0  # far below a thousandth of a step, far above rounding
    wanted = np.argwhere(np.abs(x[:, None] - y) <= nothing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_pairs, "TIMES_AT_ONCE", at_once)
        if not len(wanted):
            with pytest.raises(UsageError, match="no frame of"):
                pair_frames(a, b, align)
            return
        pairs = pair_frames(a, b, align)
    assert np.column_stack([pairs.a, pairs.b]).tolist() == wanted.tolist()
    assert (pairs.only_a, pairs.only_b) == (len(x) - len(wanted), len(y) - len(wanted))


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(st.lists(st.sampled_from([1, 1, 1, 2, 300, 70_000]), max_size=20), max_size=6),
       piece=st.integers(1, 7), start=st.integers(0, 70), stop=st.integers(0, 140))  # fmt: skip
def test_rising_numbers_are_kept_as_they_are(parts, piece, start, stop):
    wanted, kept = np.zeros(0, np.int64), RisingNumbers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rising_numbers, "PIECE_LENGTH", piece)
        for gaps in parts:
            further = np.cumsum(np.array(gaps, np.int64)) + (wanted[-1] if len(wanted) else 0)
            kept.append(further)
            wanted = np.concatenate([wanted, further])
    assert (len(kept), np.asarray(kept).tolist()) == (len(wanted), wanted.tolist())
    assert kept[start:stop].tolist() == wanted[start:stop].tolist()
    assert [kept[k] for k in range(-len(wanted), len(wanted))] == [*wanted.tolist(), *wanted.tolist()]


@pytest.mark.parametrize(("step", "n_bytes"), [(np.arange(0, 10**7, 2), 1000), (np.arange(10**6) ** 2 // 10**5, 2 * 10**6)])
def test_rising_numbers_take_little_memory(step, n_bytes):
    kept = RisingNumbers()
    kept.append(step)
    assert len(pickle.dumps(kept)) < n_bytes


def test_frames_that_do_not_rise_are_damage_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(frame_pairs, "TIMES_AT_ONCE", 4)
    for k in (1, 4, 11):
        for order in (1, -1):
            runs = Instants(range(12), 1e-3), Instants(range(3), 1e-3)
            runs[0].column("frames/step")[k] = 0
            with pytest.raises(FileError, match="/frames/step does not rise"):
                pair_frames(*runs[::order], Align.STEP)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_extremes_are_those_of_the_whole_however_it_is_cut(data):
    n_frames, n_worlds, width = (data.draw(st.integers(1, k)) for k in (9, 4, 3))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 1.0 + 1e-7, 1e300, -1e300]
    a, b = (random.choice(special, (n_frames, n_worlds, width)) for _ in range(2))
    b = np.where(random.random(b.shape) < 0.5, a, b)
    tolerance = Tolerance(data.draw(st.sampled_from([0.0, 1e-6, 1.0])), data.draw(st.sampled_from([0.0, 1e-9])))
    extremes = Extremes(width, tolerance)
    frames = sorted(data.draw(st.sets(st.integers(1, n_frames), max_size=3)) | {0, n_frames})
    worlds = sorted(data.draw(st.sets(st.integers(1, n_worlds), max_size=2)) | {0, n_worlds})
    for f0, f1 in pairwise(frames):
        for w0, w1 in pairwise(worlds):
            parts = (x[f0:f1, w0:w1].reshape(-1, width) for x in (a, b))
            frame, world = (grid.reshape(-1) for grid in np.mgrid[f0:f1, w0:w1])
            extremes.add(*parts, frame, world)
    with np.errstate(all="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        off[np.isnan(off)] = np.inf
        above = (off > 0) & ((off > tolerance.atol + tolerance.rtol * np.maximum(abs(a), abs(b))) | np.isinf(off))
    for k in range(width):
        spread = extremes.spread(k)
        assert spread.absolute.value == off[..., k].max()
        assert (spread.n, spread.n_above) == (off[..., k].size, above[..., k].sum())
        assert spread.n_different == (off[..., k] > 0).sum()
        assert (spread.excess.value > 1.0) == above[..., k].any()
        if above[..., k].any():
            assert spread.first.frame == np.argwhere(above[..., k])[0][0]
            assert above[spread.first.frame, spread.first.world, k]
        if spread.absolute.frame >= 0:
            where = (spread.absolute.frame, spread.absolute.world, k)
            assert off[where] == spread.absolute.value
            np.testing.assert_array_equal((spread.absolute.a, spread.absolute.b), (a[where], b[where]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 200), min_size=1, unique=True), st.lists(st.integers(0, 200), min_size=1, unique=True),
       st.integers(1, 40), st.integers(1, 40))  # fmt: skip
def test_tiles_hold_every_pair_once_and_stay_in_one_tile(a, b, length, at_once):
    n = min(len(a), len(b))
    frames = [np.array(sorted(x)[:n]) for x in (a, b)]
    parts = list(cut_frames(frames, length))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "FRAMES_AT_ONCE", at_once)
        assert list(cut_frames(frames, length)) == parts
    assert np.concatenate([np.arange(n)[part] for part in parts]).tolist() == list(range(n))
    for some in frames:
        assert all(len(set(some[part] // length)) == 1 for part in parts)
    worlds = list(cut_worlds(frames[0], length))
    assert np.concatenate(worlds).tolist() == frames[0].tolist()
    assert all(len(set(some // length)) == 1 for some in worlds)


def test_a_tile_has_whole_chunks_and_few_bytes():
    class Like:
        ndim, dtype, shape, chunks = 4, np.dtype("f8"), (1000, 5000, 10, 7), (16, 64, 10, 7)

    length, width = tile_lengths([Like])
    assert (length % 16, width % 64) == (0, 0)
    assert length * width * 560 <= 1024 * 1024
    assert tile_lengths([Like], 1) == (16, 64)
    assert tile_lengths([Like], 10**12)[1] >= 5000
