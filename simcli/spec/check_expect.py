"""What `expect` and `run.stop_when` name: whether it is recorded, when, and whether there is a newer spelling."""

import math

from simcli.spec.channel_names import GROUPS, SCALARS, canonical, is_whole, split
from simcli.spec.checker import Checker
from simcli.spec.faults import did_you_mean, nearest
from simcli.spec.schema_expect import ExpectSpec

_FRAME_TOLERANCE = 1e-3  # of a step: times of frames are k dt in floating point


def check_expectations(check: Checker) -> None:
    """Names, worlds and times of all expectations."""
    for index, expect in enumerate(check.spec.expect):
        path = f"expect[{index}]"
        _world(check, expect, path)
        if expect.measure is not None:
            _measure(check, expect, f"{path}.measure")
            continue
        key = next(key for key in ("max", "min", "quantity") if getattr(expect, key) is not None)
        subject = expect.subject
        if subject is None:
            known = known_channel(check, getattr(expect, key), f"{path}.{key}")
        else:
            known = _subject(check, subject, getattr(expect, subject), f"{path}.{subject}")
        if known:
            _newer(check, _written(expect, key, subject), expect.channel, key, f"{path}.{key}")
        if isinstance(expect.at, float):
            _expected_time(check, expect.at, f"{path}.at")


def _world(check: Checker, expect: ExpectSpec, path: str) -> None:
    if expect.world is not None and expect.world >= check.n_worlds and ("batch", "") not in check.broken:
        check.fault("SC205", f"there are {check.n_worlds} worlds, counted from 0", f"{path}.world")


def _measure(check: Checker, expect: ExpectSpec, path: str) -> None:
    known = check.spec.measure
    if expect.measure not in known and ("measure", expect.measure) not in check.broken:
        hint = did_you_mean(expect.measure, known, "measures") if known else "write it below `measure`"
        check.fault("SC315", f"there is no measure `{expect.measure}`", path, hint)


def check_watched(check: Checker) -> None:
    """The joint and the component that may end a world."""
    stop = check.spec.run.stop_when
    if stop is None:
        return
    at = "run.stop_when.joint" if stop.joint is not None else "run.stop_when.quantity"
    if not _subject(check, "joint", stop.channel.subject, at, "" if stop.joint else stop.quantity):
        return
    joint = check.spec.joints.get(stop.channel.subject)
    n = check.n_q(joint) if joint and stop.channel.quantity == "q" else len(joint.dof_kinds) if joint else None
    if n is not None and stop.component >= n:
        path = "run.stop_when.component" if n and check.has("run.stop_when.component") else at
        check.fault("SC205", f"joint `{stop.channel.subject}` has {n} coordinate(s), counted from 0", path)
    written = stop.quantity if is_whole(stop.quantity) else f"{{joint: {stop.joint}, quantity: {stop.quantity}}}"
    _newer(check, written, str(stop.channel), "quantity", "run.stop_when.quantity")


def _written(expect: ExpectSpec, key: str, subject: str | None) -> str:
    text = getattr(expect, key)
    return text if subject is None else f"{{{subject}: {getattr(expect, subject)}, quantity: {text}}}"


def _newer(check: Checker, written: str, name: str, key: str, path: str) -> None:
    """A note on an older spelling, which goes on meaning the same."""
    if written != name:
        message = f"`{written}` is an older spelling of `{name}`"
        check.fault("SC318", message, path, f"write `{key}: {name}`", severity="note")


def _expected_time(check: Checker, at: float, path: str) -> None:
    """`at` is the time of a recorded frame: nothing is interpolated."""
    spec = check.spec
    if any((section, "") in check.broken for section in ("run", "output", "solver")):
        return
    if any(fault.code in ("SC407", "SC418") for fault in check.faults.found):
        return  # the frames are not known
    if at > spec.run.duration * (1 + 1e-12):
        hint = f"the run ends at {spec.run.duration:g} s"
        check.fault("SC233", f"the time {at:g} s is after the end of the run", path, hint)
        return
    every = spec.output.every or spec.solver.dt
    last = math.floor(spec.run.duration / every * (1 + 1e-12))
    frames = (min(round(at / every), last) * every, spec.run.duration)  # the run ends with a frame, too
    nearest = min(frames, key=lambda time: abs(at - time))
    if abs(at - nearest) > _FRAME_TOLERANCE * spec.solver.dt:
        message = f"no frame is recorded at {at:.12g} s: there is one every {every:.12g} s, and at the end"
        check.fault("SC233", message, path, f"the nearest is {nearest:.12g}")



def known_channel(check: Checker, text: str, path: str) -> bool:
    """Whether a name, or a pattern of subjects, is one of `channel_names`; a fault if not."""
    name = split(text)
    known = GROUPS.get(name.group) or SCALARS.get(name.group, ())
    if (name.group in GROUPS) != bool(name.subject) or name.quantity not in known:
        hint = _meant(check, text) or "as energy.drift, joint.pin.q or body.crank.position"
        check.fault("SC315", f"`{text[:60]}` is no recorded quantity", path, hint)
        return False
    if not name.subject or any(c in name.subject for c in "*?["):
        return True
    return _subject(check, name.group, name.subject, path, text)


def _meant(check: Checker, text: str) -> str:
    """A hint: the nearest whole name of the scene; "" if none is near."""
    subjects = {
        "body": check.names["bodies"],
        "joint": [*check.names["joints"], *(f"{name}_free" for name in check.names["bodies"])],
        "point": [f"{name}/{point}" for name, body in check.spec.bodies.items() for point in body.points],
    }
    names = [f"{group}.{quantity}" for group, quantities in SCALARS.items() for quantity in quantities]
    names += [f"{group}.{one}.{quantity}" for group, of in subjects.items() for one in of for quantity in GROUPS[group]]
    close = nearest(canonical(text), names)
    return f"did you mean `{close}`?" if close else ""


def _subject(check: Checker, group: str, name: str, path: str, whole: str = "") -> bool:
    """Whether a body, joint or point exists; a fault if not, with the nearest whole name where one is written."""
    if group != "point":
        test = check.body if group == "body" else check.joint_or_free
        there = name in check.names["bodies" if group == "body" else "joints"]
        return test(name, path, _meant(check, whole) if whole and not there else "")
    body, slash, point = name.rpartition("/")
    if not slash:
        check.fault("SC310", f"`{name}` names no point", path, "write body/point")
        return False
    if not _subject(check, "body", body, path, whole):
        return False
    points = check.spec.bodies[body].points if body in check.spec.bodies else {point: None}
    if point not in points:
        hint = (whole and _meant(check, whole)) or did_you_mean(point, points, "points")
        check.fault("SC310", f"body `{body}` has no point `{point}`", path, hint)
    return point in points
