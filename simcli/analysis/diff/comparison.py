"""The whole comparison of two runs by time, world and name."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.channels import CONTACT_LIST, matches_channel
from simcli.analysis.diff.contacts_and_events import MATCHED, UNMATCHED, ContactDifferences, EventDifference, event_changes
from simcli.analysis.diff.extremes import Extremes, Spread, Tolerance
from simcli.analysis.diff.labelled import Component, Labelled, labelled_columns, oriented
from simcli.analysis.diff.run_pairs import Align, FramePairs, WorldPairs, longest_step, pair_frames, pair_worlds
from simcli.analysis.diff.scenes_and_models import (
    Change,
    NameChange,
    TableDifference,
    fact_changes,
    model_changes,
    name_changes,
    param_changes,
    scene_changes,
)
from simcli.errors import UsageError
from simcli.records.reading.tiles import cut_frames, read_tile, tile_lengths
from simcli.spec.base.channel_names import canonical

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

# Between solvers of other kinds or steps these differ by nature: they describe the work of a solver, not the motion.
WORK_OF_SOLVER = ("diag.iterations", "diag.residual", "diag.position_violation", "diag.velocity_violation")
EXACT = ("diag.status",)  # a code, of which no other is nearly the same

_Seen = Callable[[float], None]  # takes the fraction that is done


@dataclass(frozen=True)
class Asked:
    """What is to be compared, and how strictly.

    Attributes:
        tolerance: what may differ.
        align: what the frames of a pair have in common.
        channels: names or patterns; none for all.
        worlds: numbers, in the one file; None for all that both have.
    """

    tolerance: Tolerance
    align: Align = Align.TIME
    channels: Sequence[str] = ()
    worlds: Sequence[int] | None = None


@dataclass(frozen=True)
class ChannelDifference:
    """How one channel differs.

    Attributes:
        name: as `body.rod.position`.
        worst: its component that is farthest beyond the tolerance.
        spread: of this component.
        n_above: components that are beyond the tolerance somewhere.
        judged: False for what describes the work of a solver, if the solvers differ.
    """

    name: str
    worst: Component
    spread: Spread
    n_above: int
    judged: bool

    @property
    def is_above(self) -> bool:
        """True if it is beyond the tolerance and counts."""
        return self.judged and self.n_above > 0

    @property
    def differs(self) -> bool:
        """True if any number differs."""
        return self.spread.n_different > 0


@dataclass(frozen=True)
class Comparison:
    """What differs between two runs.

    Attributes:
        scene: keys of the scenes.
        facts: versions, device, seed and the like.
        names: of bodies, joints and the like.
        params: parameters of the worlds.
        model: tables of /model that differ; told, and not judged, because they are causes.
        events: that differ; told, and not judged, because what they do to the motion is.
        pairs: frames that were compared.
        worlds: that were compared.
        channels: that were compared, the farthest beyond the tolerance first.
        only_a: channels that only the one file has.
        only_b: channels that only the other one has.
        times: [s], of the frames that the channels name.
    """

    scene: list[Change]
    facts: list[Change]
    names: list[NameChange]
    params: list[Change]
    model: list[TableDifference]
    events: list[EventDifference]
    pairs: FramePairs
    worlds: WorldPairs
    channels: list[ChannelDifference]
    only_a: list[str]
    only_b: list[str]
    times: dict[int, float]

    @property
    def above(self) -> list[ChannelDifference]:
        """Channels beyond the tolerance."""
        return [channel for channel in self.channels if channel.is_above]


def compare(a: "Trajectory", b: "Trajectory", asked: Asked, seen: _Seen = lambda fraction: None) -> Comparison:
    """Compare two runs.

    Args:
        a: the one file.
        b: the other one.
        asked: what is compared.
        seen: is told again and again which fraction is done.

    Raises:
        UsageError: there is no such channel or world, or nothing that both files have.
        FileError: a file is damaged.
    """
    worlds = pair_worlds(a, b, asked.worlds)
    mine, theirs = labelled_columns(a), labelled_columns(b)
    kept = _chosen(a, b, mine, theirs, asked.channels)
    pairs = pair_frames(a, b, asked.align)
    scene = scene_changes(a, b)
    other_solver = any(change.key.startswith("solver.") for change in scene)
    spreads = _Spreads(a, b, pairs, worlds, asked.tolerance, seen)
    found = spreads.of_columns(mine, theirs, kept.columns)
    if kept.contacts:
        found += spreads.of_contacts()
    channels = _by_channel(found, other_solver)
    model = model_changes(a, b, worlds, asked.tolerance)
    events = [] if asked.channels else event_changes(a, b, worlds, asked.tolerance, longest_step(a, b))
    return Comparison(
        scene,
        fact_changes(a, b),
        name_changes(a, b),
        param_changes(a, b, worlds),
        model,
        events,
        pairs,
        worlds,
        channels,
        kept.only_a,
        kept.only_b,
        _times_of(a, channels),
    )


def _times_of(run: "Trajectory", channels: list[ChannelDifference]) -> dict[int, float]:
    """Times of the frames where channels have their extremes; -1 stands for no frame."""
    time = run.column("frames/time")
    frames = {peak.frame for channel in channels for peak in channel.spread.peaks}
    return {frame: float(time[frame]) for frame in sorted(frames) if frame >= 0}


@dataclass(frozen=True)
class _Kept:
    """What is compared: labels of each dataset, whether contacts; and channels of one file only."""

    columns: dict[str, list[str]]
    contacts: bool
    only_a: list[str]
    only_b: list[str]


def _chosen(
    a: "Trajectory", b: "Trajectory", mine: dict[str, Labelled], theirs: dict[str, Labelled], patterns: Sequence[str]
) -> _Kept:
    have_contacts = ["contacts" in run.channels for run in (a, b)]
    names = [_channels(columns) + [CONTACT_LIST] * has for columns, has in zip((mine, theirs), have_contacts, strict=True)]
    wanted = _matching(list(dict.fromkeys(names[0] + names[1])), patterns, a, b)
    only_a, only_b = (
        [name for name in some if name in wanted and name not in set(others)] for some, others in (names, names[::-1])
    )
    columns = {}
    for path in mine:
        if path in theirs:
            both = [
                label
                for label, one in mine[path].components.items()
                if label in theirs[path].components and one.channel in wanted
            ]
            if both:
                columns[path] = both
    contacts = CONTACT_LIST in wanted and all(have_contacts)
    if not columns and not contacts:
        raise UsageError(f"{a.path} and {b.path} have no channel in common" + (", of those asked for" if patterns else ""))
    return _Kept(columns, contacts, only_a, only_b)


def _channels(columns: dict[str, Labelled]) -> list[str]:
    return list(dict.fromkeys(one.channel for column in columns.values() for one in column.components.values()))


def _matching(known: list[str], patterns: Sequence[str], a: "Trajectory", b: "Trajectory") -> set[str]:
    """Channels that patterns mean.

    Raises:
        UsageError: a pattern means none; the message has the nearest name.
    """
    if not patterns:
        return set(known)
    found: set[str] = set()
    for pattern in patterns:
        word = canonical(pattern)
        some = {name for name in known if name == word or matches_channel(name, word)}
        if not some:
            near = get_close_matches(word, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"they have {', '.join(known[:6])} and others"
            raise UsageError(f"no channel `{pattern}` in {a.path} and {b.path}: {hint}")
        found |= some
    return found


class _Spreads:
    """Reads both files once and keeps what is largest."""

    def __init__(
        self, a: "Trajectory", b: "Trajectory", pairs: FramePairs, worlds: WorldPairs, tolerance: Tolerance, seen: _Seen
    ):
        self._runs, self._pairs, self._worlds = (a, b), pairs, worlds
        self._tolerance, self._seen = tolerance, seen

    def of_columns(
        self, mine: dict[str, Labelled], theirs: dict[str, Labelled], labels: dict[str, list[str]]
    ) -> list[tuple[Component, Spread]]:
        """Spreads of the components of all datasets."""
        found, done, total = [], 0, max(sum(map(len, labels.values())), 1)
        for path, some in labels.items():
            extremes = self._of_dataset(path, mine[path], theirs[path], some, (done / total, len(some) / total))
            found += [(mine[path].components[label], extremes.spread(k)) for k, label in enumerate(some)]
            done += len(some)
        return found

    def _of_dataset(
        self, path: str, mine: Labelled, theirs: Labelled, labels: list[str], progress: tuple[float, float]
    ) -> Extremes:
        exact = all(mine.components[label].channel in EXACT for label in labels)
        extremes = Extremes(len(labels), Tolerance(0.0, 0.0) if exact else self._tolerance)
        picks = [_pick(one, labels) for one in (mine, theirs)]
        at = {label: k for k, label in enumerate(labels)}
        turns = [[at[label] for label in four] for four in mine.quaternions if all(label in at for label in four)]
        quaternions = np.array(turns, np.int64).reshape(-1, 4)
        start, share = progress
        columns = [run.column(path) for run in self._runs]
        for part, *worlds in self._tiles(columns):
            a, b = (
                _rows(read_tile(column, frames[part], some), pick)
                for column, frames, some, pick in zip(columns, (self._pairs.a, self._pairs.b), worlds, picks, strict=True)
            )
            frame = np.repeat(self._pairs.a[part], len(worlds[0]))
            extremes.add(a, oriented(a, b, quaternions), frame, np.tile(worlds[0], part.stop - part.start))
            self._seen(start + share * part.stop / len(self._pairs.a))
        return extremes

    def _tiles(self, columns: list) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        length, width = tile_lengths(columns)
        for part in cut_frames([self._pairs.a, self._pairs.b], length):
            for mine, theirs in self._worlds.tiles(width):
                yield part, mine, theirs

    def of_contacts(self) -> list[tuple[Component, Spread]]:
        """Spreads of the contacts."""
        contacts = ContactDifferences(*self._runs, self._pairs, self._worlds, self._tolerance)
        done = 0
        for n in contacts.compare():
            done += n
            self._seen(done / len(self._pairs.a))
        found = [(UNMATCHED, contacts.unmatched.spread(0))]
        return found + [(one, contacts.matched.spread(k)) for k, one in enumerate(MATCHED)]


def _pick(columns: Labelled, labels: list[str]) -> list[int] | slice:
    """Places of some components, as an index that copies nothing if they are all."""
    if labels == list(columns.components):
        return slice(None)
    place = {label: k for k, label in enumerate(columns.components)}
    return [place[label] for label in labels]


def _rows(block: np.ndarray, pick: list[int] | slice) -> np.ndarray:
    """(F, W, ...) as rows of chosen components."""
    return block.reshape(block.shape[0] * block.shape[1], -1)[:, pick]


def _by_channel(found: list[tuple[Component, Spread]], other_solver: bool) -> list[ChannelDifference]:
    """Components put together, the farthest beyond the tolerance first; what is not judged comes after that."""
    groups: dict[str, list[tuple[Component, Spread]]] = {}
    for component, spread in found:
        groups.setdefault(component.channel, []).append((component, spread))
    channels = []
    for name, some in groups.items():
        worst, spread = max(some, key=lambda one: (one[1].excess.value, one[1].absolute.value))
        n_above = sum(one.n_above > 0 for _, one in some)
        channels.append(ChannelDifference(name, worst, spread, n_above, not (other_solver and name in WORK_OF_SOLVER)))
    return sorted(channels, key=lambda one: (not one.judged, -one.spread.excess.value, -one.spread.absolute.value))
