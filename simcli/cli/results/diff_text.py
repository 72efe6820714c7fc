"""What `simcli diff` has found, in words and as JSON."""

import math
from typing import TYPE_CHECKING, Any

from simcli.cli import console
from simcli.cli.console import plural

if TYPE_CHECKING:
    from simcli.analysis.diff.comparison import ChannelDifference, Comparison
    from simcli.analysis.diff.contacts_and_events import EventDifference
    from simcli.analysis.diff.extremes import Peak, Tolerance
    from simcli.analysis.diff.scenes_and_models import Change, NameChange, TableDifference
    from simcli.records.integrity.bits import BitDifference
    from simcli.records.reading.reader import Trajectory

MOST_ROWS = 20  # of a table, unless all are asked for
MOST_NAMES = 8
MOST_LETTERS = 40  # of a value of a scene


def head(
    a: "Trajectory",
    b: "Trajectory",
    scene: list["Change"],
    facts: list["Change"],
    names: list["NameChange"],
    params: list["Change"],
    everything: bool,
) -> list[str]:
    """The files, and what differs beside the numbers."""
    lines = [f"{word}  {run.path}  ({_extent(run)})" for word, run in (("A", a), ("B", b))]
    for title, changes in (("scene", scene), ("made with", facts), ("parameters", params)):
        if changes:
            rows = [(change.key, _value(change.a), _value(change.b)) for change in changes]
            lines += ["", f"{title}:", *_cut(rows, (("key" if title == "scene" else "", "A", "B")), everything)]
    if names:
        lines += ["", "names:"]
    for change in names:
        for word, only in (("A", change.only_a), ("B", change.only_b)):
            if only:
                lines.append(f"  {change.kind} only in {word}: {_names(only, everything)}")
        if change.reordered:
            lines.append(f"  {change.kind} stand in another order")
    return lines


def _extent(run: "Trajectory") -> str:
    time = run.column("frames/time")
    span = f", t = {time[0]:g} to {time[-1]:g} s" if run.n_frames else ""
    return f"{plural(run.n_frames, 'frame')}{span}, {plural(run.n_worlds, 'world')}, {console.status_text(run.status)}"


def _value(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 4]} ..."


def _names(names, everything: bool) -> str:
    shown = names if everything else names[:MOST_NAMES]
    more = f", and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(shown) + more


def _cut(rows: list[tuple], header: tuple[str, ...], everything: bool) -> list[str]:
    """A table, cut with a count."""
    shown = rows if everything else rows[:MOST_ROWS]
    lines = [console.table(shown, header)]
    if len(rows) > len(shown):
        lines.append(f"  and {len(rows) - len(shown)} more: --all shows them")
    return lines


def comparison(a: "Trajectory", b: "Trajectory", found: "Comparison", everything: bool) -> list[str]:
    """What was compared, and the channels that differ."""
    pairs = found.pairs
    lines = [
        "",
        f"compared: {plural(len(pairs.a), 'frame')} by {pairs.align}, {plural(len(found.worlds), 'world')}, "
        f"{plural(len(found.channels), 'channel')}",
    ]
    for word, n in (("A", pairs.only_a), ("B", pairs.only_b)):
        if n:
            lines.append(f"  {plural(n, 'frame')} of {word} without a partner")
    if found.worlds.by_origin:
        lines.append("  worlds that come from one world of one run are compared; numbers of worlds are those of A")
    elif found.worlds.by_batch:
        lines.append("  worlds of one number in the batch are compared; numbers of worlds are those of A")
    elif a.n_worlds != b.n_worlds:
        lines.append(f"  A has {plural(a.n_worlds, 'world')}, B {b.n_worlds}: those of one number are compared")
    for word, only in (("A", found.only_a), ("B", found.only_b)):
        if only:
            lines.append(f"  {plural(len(only), 'channel')} only in {word}: {_names(only, everything)}")
    lines += _model_lines(found.model, everything) + _event_lines(found.events, everything)
    shown = [channel for channel in found.channels if channel.differs or everything]
    if shown:
        rows = [_row(found, channel) for channel in shown]
        header = ("component", "difference", "unit", "relative", "frame", "t [s]", "world", "A", "B", "times tolerance")
        lines += ["", *_cut(rows, header, everything)]
        unjudged = [channel.name for channel in shown if not channel.judged]
        if unjudged:
            lines.append("  not judged: numbers that describe the work of a solver, because the solvers differ")
    return lines


def _model_lines(model: list["TableDifference"], everything: bool) -> list[str]:
    """Tables of /model that differ: of each the entry that is farthest beyond the tolerance."""
    if not model:
        return []
    rows = [
        (
            one.name,
            ", ".join(one.entry) or "-",
            _or_dash(one.world),
            _number(one.a),
            _number(one.b),
            one.unit,
            str(one.count),
        )
        for one in model
    ]
    return ["", "model:", *_cut(rows, ("table", "entry", "world", "A", "B", "unit", "entries"), everything)]


def _event_lines(events: list["EventDifference"], everything: bool) -> list[str]:
    """Events that differ, by time."""
    if not events:
        return []
    rows = [
        (
            one.reason,
            "all" if one.world < 0 else str(one.world),
            one.code,
            one.subject or "-",
            _or_dash(one.time_a),
            _or_dash(one.time_b),
            _or_dash(one.value_a),
            _or_dash(one.value_b),
            _value(one.text),
        )
        for one in events
    ]
    header = ("", "world", "code", "subject", "t [s] A", "t [s] B", "value A", "value B", "")
    return ["", "events:", *_cut(rows, header, everything)]


def _number(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _row(found: "Comparison", channel: "ChannelDifference") -> tuple:
    """A line of the table: the largest difference of the component that is farthest beyond the tolerance."""
    spread = channel.spread
    peak = spread.absolute
    if not channel.differs:
        return channel.name, "0", channel.worst.unit, *[""] * 7
    ratio = f"{spread.excess.value:.3g}" if channel.judged else "not judged"
    return (
        channel.worst.label,
        f"{peak.value:.3g}",
        channel.worst.unit,
        f"{spread.relative.value:.3g}",
        str(peak.frame),
        f"{found.times[peak.frame]:g}",
        str(peak.world),
        f"{peak.a:.9g}",
        f"{peak.b:.9g}",
        ratio,
    )


def diff_verdict(found: "Comparison", tolerance: "Tolerance") -> str:
    """The answer in one line."""
    bounds = f"rtol {tolerance.rtol:g}, atol {tolerance.atol:g}"
    if not found.above:
        n = sum(channel.differs for channel in found.channels)
        rest = "all equal" if not n else f"{n} differ{'s' if n == 1 else ''}, none above {bounds}"
        others = [plural(len(some), word) for some, word in ((found.model, "table"), (found.events, "event")) if some]
        told = f"; beside them {' and '.join(others)} differ, which are not judged" if others else ""
        return f"{console.paint('no difference:', 'good')} {plural(len(found.channels), 'channel')}, {rest}{told}"
    first = min((channel.spread.first for channel in found.above), key=lambda peak: peak.frame)
    when = f"the first at frame {first.frame}, t = {found.times[first.frame]:g} s, world {first.world}"
    return (
        f"{console.paint('different:', 'bad')} {len(found.above)} of {plural(len(found.channels), 'channel')} above "
        f"{bounds}; {when}"
    )


def bits(found: list["BitDifference"], everything: bool) -> list[str]:
    """The datasets whose bits differ."""
    values = [one for one in found if one.reason == "value"]
    lines = [f"  {one.path}: {_reason(one)}" for one in found if one.reason != "value"]
    shown = lines if everything else lines[:MOST_ROWS]
    more = [f"  and {len(lines) - len(shown)} more: --all shows them"] if len(lines) > len(shown) else []
    out = ["", "datasets that cannot be compared as a whole:", *shown, *more] if lines else []
    if values:
        header = ("dataset", "entry", "frame", "t [s]", "world", "A", "B", "bit", "values that differ")
        rows = [
            (
                one.path,
                _entry(one),
                _or_dash(one.frame),
                _or_dash(one.time),
                _or_dash(one.world),
                _value(_plain(one.a)),
                _value(_plain(one.b)),
                _bit(one),
                str(one.count),
            )
            for one in values
        ]
        out += ["", "first value of each dataset that differs:", *_cut(rows, header, everything)]
    return out


def _reason(one: "BitDifference") -> str:
    if one.reason.startswith("only"):
        return one.reason
    unit = " rows" if one.reason == "length" else ""
    return f"{one.reason} {one.a} in A, {one.b}{unit} in B"


def _or_dash(value: float | int | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _entry(one: "BitDifference") -> str:
    return ", ".join(one.entry) or "-"


def _bit(one: "BitDifference") -> str:
    words = str(one.bit) + (f" ({one.part})" if one.part else "")
    return words if one.bits == 1 else f"{words}, {one.bits} in all"


def _plain(value: Any) -> Any:
    """A number in the shortest form that reads back as the same one; a text without its padding."""
    value = value.item() if hasattr(value, "item") else value
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def exact_verdict(found: list["BitDifference"]) -> str:
    """The answer in one line: the first bit in time."""
    if not found:
        return f"{console.paint('no difference:', 'good')} all bits are equal"
    words = f"{console.paint('different:', 'bad')} {plural(len(found), 'dataset')}"
    first = next((one for one in found if one.reason == "value"), None)
    if first is None:
        return words
    place = [first.path, *([_entry(first)] if first.entry else [])]
    for word, value in (("frame", first.frame), ("world", first.world)):
        if value is not None:
            place.append(f"{word} {value}")
    return f"{words}; the first in time: {', '.join(place)}: bit {_bit(first)}"


def head_data(
    a: "Trajectory", b: "Trajectory", scene: list["Change"], facts: list["Change"], names: list["NameChange"]
) -> dict[str, Any]:
    """The files and what differs beside the numbers, for JSON."""
    files = {
        word: {"path": run.path, "frames": run.n_frames, "worlds": run.n_worlds, "status": run.status}
        for word, run in (("a", a), ("b", b))
    }
    return {
        **files,
        "scene": [vars(one) for one in scene],
        "facts": [vars(one) for one in facts],
        "names": [vars(one) for one in names],
    }


def comparison_data(a: "Trajectory", b: "Trajectory", found: "Comparison", tolerance: "Tolerance") -> dict[str, Any]:
    """A comparison for JSON."""
    pairs = found.pairs
    return {
        "within": not found.above,
        "rtol": tolerance.rtol,
        "atol": tolerance.atol,
        "align": pairs.align,
        "params": [vars(one) for one in found.params],
        "model": [vars(one) for one in found.model],
        "events": [vars(one) for one in found.events],
        "frames": {"compared": len(pairs.a), "only_a": pairs.only_a, "only_b": pairs.only_b},
        "worlds": {
            "compared": found.worlds.a,
            "partners": found.worlds.b,
            "by_origin": found.worlds.by_origin,
            "by_batch": found.worlds.by_batch,
            "same_number": a.n_worlds == b.n_worlds,
        },
        "channels": [_channel_data(found, channel) for channel in found.channels],
        "only_a": found.only_a,
        "only_b": found.only_b,
    }


def _channel_data(found: "Comparison", channel: "ChannelDifference") -> dict[str, Any]:
    spread = channel.spread
    first = _peak_data(found, spread.first)
    return {
        "name": channel.name,
        "component": channel.worst.label,
        "unit": channel.worst.unit,
        "judged": channel.judged,
        "above": channel.is_above,
        "components_above": channel.n_above,
        "absolute": _peak_data(found, spread.absolute),
        "relative": _peak_data(found, spread.relative),
        "times_tolerance": _peak_data(found, spread.excess),
        "first_above": {key: first[key] for key in first if key != "value"} if first else None,
        "values": spread.n,
        "values_differing": spread.n_different,
        "values_above": spread.n_above,
    }


def _peak_data(found: "Comparison", peak: "Peak") -> dict[str, Any] | None:
    """An extreme and its place; null where nothing differs, or where a number is infinite."""
    if peak.frame < 0:
        return None
    return {**vars(peak), "time": found.times[peak.frame]}


def bit_data(one: "BitDifference") -> dict[str, Any]:
    """A dataset whose bits differ, for JSON; numbers that JSON lacks as text."""
    values = {name: _json_value(getattr(one, name)) for name in ("a", "b")}
    return {**vars(one), **values, "part": one.part}


def _json_value(value: Any) -> Any:
    value = _plain(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
