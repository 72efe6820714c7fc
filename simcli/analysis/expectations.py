"""The `expect:` of a scene, judged per world on the finished trajectory.

`max` is the largest magnitude of a channel over all frames (and components), `min` its smallest value. `at` takes the
frame at that time, which must be a recorded one: nothing is interpolated. A world that failed meets no expectation; one
that met `run.stop_when` is judged by the frames before its end.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from simcli.analysis.channels import ChannelSource, locate_channel
from simcli.errors import UsageError
from simcli.model.snapshot import Status
from simcli.spec.base.channel_names import is_on_demand, split_name

TIME_TOLERANCE = 1e-3  # of a step: times of frames are k dt in floating point
_FRAMES_AT_ONCE = 128  # a large batch does not fit in memory as a whole


@dataclass(frozen=True)
class Verdict:
    """One expectation and what became of it in the world that is farthest from it.

    Attributes:
        text: the expectation in words.
        passed: True if it holds in every world asked for.
        world: the world that is farthest from it.
        time: [s], of the frame that is farthest from it; NaN if there is none.
        expected: what was asked for.
        got: the number there; NaN if there is none.
        difference: by how much: |got - expected|, or how far beyond the bound (negative: inside it).
        failed_worlds: every world where it does not hold.
        component: which of several numbers `got` is, None for a single one.
        reason: why there is no number, "" if there is one.
    """

    text: str
    passed: bool
    world: int
    time: float
    expected: str
    got: float
    difference: float
    failed_worlds: tuple[int, ...]
    component: int | None = None
    reason: str = ""

    def row(self) -> tuple[str, ...]:
        """Cells of the report: mark, expectation, world, time, expected, got, difference."""
        mark = "ok" if self.passed else "FAILED"
        more = f" (+{len(self.failed_worlds) - 1})" if len(self.failed_worlds) > 1 else ""
        time = f"{self.time:g}" if math.isfinite(self.time) else "-"
        got = self.reason or (f"{self.got:.10g}" if self.component is None else f"[{self.component}] {self.got:.10g}")
        is_margin = self.passed and self.difference < 0  # an inequality that holds is off by nothing
        off = f"{self.difference:.3g}" if math.isfinite(self.difference) and not is_margin else "-"
        return mark, self.text, f"{self.world}{more}", time, self.expected, got, off

    def as_dict(self) -> dict:
        """For JSON."""
        return {**vars(self), "failed_worlds": list(self.failed_worlds)}


@dataclass(frozen=True)
class _Numbers:
    """The numbers that an expectation compares.

    Attributes:
        values: (W, n).
        time: [s], (W,), of the frames they come from.
        lost: (W,) True where there is nothing to compare: the world failed, or had ended.
    """

    values: np.ndarray
    time: np.ndarray
    lost: np.ndarray


def judge_expectations(
    expectations: Sequence, trajectory, dt: float, world_numbers: Sequence[int], of_worlds: Sequence[Sequence] = ()
) -> list[Verdict]:
    """Judge every expectation of a scene.

    Args:
        expectations: `spec.expect`.
        trajectory: the finished run.
        dt: [s], step.
        world_numbers: number in the batch of each recorded world (one number when a world is replayed).
        of_worlds: those of each recorded world where their numbers differ; left out, all have the same.

    Returns:
        a verdict per expectation that concerns a recorded world.
    """
    verdicts = []
    for k, plain in enumerate(expectations):
        expect = _Expected(plain, [one[k] for one in of_worlds])
        if expect.world is not None and expect.world not in world_numbers:
            continue
        if expect.measure is not None:
            verdicts.append(_judge_measure(expect, trajectory, world_numbers))
            continue
        try:
            sources = locate_channel(trajectory, expect.channel)
        except UsageError as error:
            verdicts.append(_unjudged(expect, world_numbers, f"not recorded: {error}"))
            continue
        verdicts.append(_judge(expect, sources, trajectory, dt, world_numbers))
    return verdicts


class _Expected:
    """An expectation whose numbers may be those of each world.

    Attributes:
        equals: (W|1, n) or None.
        within, below, above: (W|1, 1) or None.
    """

    def __init__(self, spec, of_worlds: Sequence):
        self._spec, each = spec, of_worlds or [spec]
        for key in ("equals", "within", "below", "above"):
            values = [getattr(one, key) for one in each]
            column = None if values[0] is None else np.array(values, float).reshape(len(values), -1)
            setattr(self, key, column)

    def __getattr__(self, name: str):
        return getattr(self._spec, name)

    def numbers_of(self, world: int) -> dict[str, np.ndarray | None]:
        """What is expected of a world, by key."""
        return {
            key: None if (column := getattr(self, key)) is None else column[world if len(column) > 1 else 0]
            for key in ("equals", "within", "below", "above")
        }


def channels_needed(expectations: Sequence) -> frozenset[str]:
    """Keys of `output.channels` that must be recorded for the expectations of a scene to be judged."""
    return channels_of(expect.channel for expect in expectations)


def channels_of(names: Iterable[str]) -> frozenset[str]:
    """Keys of `output.channels` that must be recorded for some quantities to be in the file."""
    needed = set()
    for name in names:
        if name.startswith("energy."):
            needed.add("energy")
        elif not name.startswith(("diag.", "measure.")) and not is_on_demand(name):  # which are there anyway
            needed.add("reactions" if name.endswith(".wrench") else "state")
    return frozenset(needed)


def _describe(expect) -> str:
    """An expectation in words, without its numbers."""
    component = f"[{expect.component}]" if expect.component is not None else ""
    name = expect.channel + component
    if expect.measure:
        return name
    if expect.at is not None:
        return f"{name} at {expect.at if expect.at == 'end' else f'{expect.at:g} s'}"
    return f"max |{name}|" if expect.max else f"min {name}"


def limits(equals=None, within=None, below=None, above=None) -> str:
    """The numbers of an expectation in words, each a number or a sequence of them."""
    words = []
    if equals is not None:
        numbers = ", ".join(f"{value:.10g}" for value in equals)
        words.append(f"{numbers} within {np.ravel(within)[0]:g}")
    if below is not None:
        words.append(f"< {np.ravel(below)[0]:g}")
    if above is not None:
        words.append(f"> {np.ravel(above)[0]:g}")
    return " and ".join(words)


def nearest_frame(at: float | str, time: np.ndarray, dt: float) -> int | None:
    """Index of the frame at a time, None if none is recorded there."""
    if at == "end":
        return len(time) - 1
    index = int(np.argmin(np.abs(time - at)))
    return index if abs(time[index] - at) <= TIME_TOLERANCE * dt else None


def _judge(expect, sources: list[ChannelSource], trajectory, dt: float, world_numbers: Sequence[int]) -> Verdict:
    time = trajectory.time
    n_components = sum(len(source.labels) for source in sources)
    if expect.component is not None and expect.component >= n_components:
        return _unjudged(expect, world_numbers, f"there are {n_components} components, from 0")
    if expect.at is None:
        return _verdict(expect, _extremes(expect, sources, trajectory, time), world_numbers)
    frame = nearest_frame(expect.at, time, dt)
    if frame is None:
        return _unjudged(expect, world_numbers, f"no frame at {expect.at:g} s")
    values, alive = _frames(expect, sources, trajectory, slice(frame, frame + 1))
    if expect.equals is not None and expect.equals.shape[1] not in (1, values.shape[2]):
        return _unjudged(expect, world_numbers, f"{expect.equals.shape[1]} numbers for {values.shape[2]} components")
    usable = alive[0] & np.isfinite(values[0]).all(axis=1)
    return _verdict(expect, _Numbers(values[0], np.full(len(usable), time[frame]), ~usable), world_numbers)


def _judge_measure(expect, trajectory, world_numbers: Sequence[int]) -> Verdict:
    """A measure stands for a world that failed, too, but no expectation is met by one."""
    measure = trajectory.measures[expect.measure]
    n_worlds = trajectory.n_worlds
    values, time = measure.value.reshape(n_worlds, -1), measure.time.reshape(n_worlds, -1)
    if expect.component is not None and expect.component >= values.shape[1]:
        return _unjudged(expect, world_numbers, f"there are {values.shape[1]} components, from 0")
    if expect.component is not None:
        values, time = (part[:, expect.component : expect.component + 1] for part in (values, time))
    if expect.equals is not None and expect.equals.shape[1] not in (1, values.shape[1]):
        return _unjudged(expect, world_numbers, f"{expect.equals.shape[1]} numbers for {values.shape[1]} components")
    failed = ~np.isin(trajectory.diag.status[-1], (Status.OK, Status.STOPPED))
    lost = failed | ~np.isfinite(values).all(axis=1)
    return _verdict(expect, _Numbers(values, time[:, 0], lost), world_numbers)


def _frames(expect, sources: list[ChannelSource], trajectory, span: slice) -> tuple[np.ndarray, np.ndarray]:
    """Values (F, W, n) of some frames, and where the worlds are neither failed nor ended, (F, W)."""
    values = np.concatenate([source.read(span) for source in sources], axis=2)
    if expect.component is not None:
        values = values[:, :, expect.component : expect.component + 1]
    return values, trajectory.diag.status[span] == Status.OK


def _extremes(expect, sources: list[ChannelSource], trajectory, time: np.ndarray) -> _Numbers:
    """Largest magnitude (`max`) or smallest value (`min`) over all frames and components of each world."""
    sign = 1.0 if expect.max else -1.0
    n_worlds = trajectory.n_worlds
    best, when = np.full(n_worlds, -np.inf), np.full(n_worlds, np.nan)
    lost = np.zeros(n_worlds, bool)
    for first in range(0, len(time), _FRAMES_AT_ONCE):
        span = slice(first, min(first + _FRAMES_AT_ONCE, len(time)))
        values, alive = _frames(expect, sources, trajectory, span)
        status = trajectory.diag.status[span]
        # A failure anywhere, or a number that is none in a healthy frame, leaves the world without an extreme.
        failed, no_number = ~alive & (status != Status.STOPPED), alive & ~np.isfinite(values).all(axis=2)
        lost |= (failed | no_number).any(axis=0)
        shown = np.abs(values) if expect.max else -values
        shown = np.where(alive, shown.max(axis=2), -np.inf)
        frame = np.argmax(shown, axis=0)
        peak = shown[frame, np.arange(n_worlds)]
        better = peak > best
        best[better], when[better] = peak[better], time[first + frame[better]]
    return _Numbers(sign * best[:, None], when, lost | ~np.isfinite(best))


def _why_no_number(expect) -> str:
    """What a world may lack that has no value to be judged."""
    is_diagnostic = split_name(str(expect.channel)).group == "diag"
    return f"the world failed or had ended{', or no shapes can touch' if is_diagnostic else ''}"


def _compare(expect, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Per world: does it hold; and of the component that is farthest off: excess, difference, number, index."""
    candidates = []
    if expect.equals is not None:
        target = np.broadcast_to(expect.equals, values.shape)
        if split_name(expect.channel).quantity == "orientation" and values.shape[1] == expect.equals.shape[1] == 4:
            # q and -q are the same rotation.
            target = np.where((values * target).sum(axis=1, keepdims=True) < 0, -target, target)
        off = np.abs(values - target)
        candidates.append((off <= expect.within, off - expect.within, off, values))
    # `within` is met by its own value; `below` and `above` are not.
    if expect.below is not None:
        beyond = values - expect.below
        candidates.append((beyond < 0, beyond, beyond, values))
    if expect.above is not None:
        beyond = expect.above - values
        candidates.append((beyond < 0, beyond, beyond, values))
    holds, excess, difference, got = (np.concatenate([part[i] for part in candidates], axis=1) for i in range(4))
    rows, column = np.arange(len(values)), np.argmax(excess, axis=1)
    worst = (part[rows, column] for part in (excess, difference, got))
    return holds.all(axis=1), *worst, column % values.shape[1]


def _verdict(expect, numbers: _Numbers, world_numbers: Sequence[int]) -> Verdict:
    batch = np.asarray(world_numbers)
    asked = np.ones(len(batch), bool) if expect.world is None else batch == expect.world
    holds, excess, difference, got, component = _compare(expect, np.where(numbers.lost[:, None], 0.0, numbers.values))
    failed = asked & (numbers.lost | ~holds)
    w = int(np.argmax(np.where(asked, np.where(numbers.lost, np.inf, excess), -np.inf)))
    lost = bool(numbers.lost[w])
    return Verdict(
        text=_describe(expect),
        passed=not failed.any(),
        world=int(batch[w]),
        time=float(numbers.time[w]),
        expected=limits(**expect.numbers_of(w)),
        got=math.nan if lost else float(got[w]),
        difference=math.nan if lost else float(difference[w]),
        failed_worlds=tuple(int(number) for number in batch[failed]),
        component=int(component[w]) if numbers.values.shape[1] > 1 else None,
        reason=_why_no_number(expect) if lost else "",
    )


def _unjudged(expect, world_numbers: Sequence[int], reason: str) -> Verdict:
    asked = [number for number in world_numbers if expect.world in (None, number)]
    nan = math.nan
    expected = limits(**expect.numbers_of(0))
    return Verdict(_describe(expect), False, asked[0], nan, expected, nan, nan, tuple(asked), reason=reason)
