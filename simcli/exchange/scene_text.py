"""A mechanism as the text of a scene, as a person would write it: names, numbers and order of the source, and its lines."""

from pathlib import PurePath

import numpy as np

from simcli.exchange.source.import_report import ImportReport
from simcli.exchange.source.layers import set_layers
from simcli.exchange.source.mechanism import (
    SourceEntry,
    SourceFrame,
    SourceJoint,
    SourceLink,
    SourceModel,
    body_look,
    own_look,
)
from simcli.spec.document.resolved_yaml import flow_text
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.scene import title_of_stem

_WIDTH = 118
_COMMENT = 60  # column of comments behind short keys
_LARGEST_WHOLE = 1e15  # of the numbers that are written without a point


def scene_text(mechanism: SourceModel, report: ImportReport, version: str) -> str:
    """The text of a scene.

    Args:
        mechanism: as it was read, every link with a mass.
        report: of the reading; its sums stand at the head.
        version: of this program.
    """
    source = PurePath(report.source).name
    title = flow_text(title_of_stem(mechanism.name))
    is_apart = set_layers(mechanism)
    initial = mechanism.initial
    if "keyframes" in mechanism.sections:  # which `initial` would beat, and the joints' own coordinates do not
        initial = {name: q for name, q in initial.items() if name not in mechanism.joints}
        for name in mechanism.initial.keys() - initial.keys():
            joint = mechanism.joints[name]
            joint.words["q"] = _centre(joint) if mechanism.initial[name] == "center" else mechanism.initial[name]
    lines = [*_head(report, source, version), "simcli: 1", f"name: {title}", ""]
    lines += _world(mechanism)
    sections = dict(mechanism.sections)
    lines += [*_section("materials", sections.pop("materials", {}))[1:], ""] if "materials" in sections else []
    lines += ["# Shapes of a model touch the world and what is added, but not each other."] if is_apart else []
    lines += ["bodies:"]
    for link in mechanism.links.values():
        if link.name != WORLD_NAME:
            lines += _entry(link.name, _body(link, mechanism), _place(link, source))
    lines += ["", "joints:"] if mechanism.joints else []
    for joint in mechanism.joints.values():
        lines += _entry(joint.name, _joint(joint), _place(joint, source))
    lines += ["", "forces:"] if mechanism.forces else []
    for name, force in mechanism.forces.items():
        lines += _entry(name, force.words, _place(force, source))
    lines += _section("initial", {"joint_q": initial} if initial else {})
    solver = sections.pop("solver", {"type": "generalized", "dt": "1 ms"})
    run = sections.pop("run", {"duration": 1})
    for name, words in sections.items():
        lines += _section(name, words)
    lines += ["", f"solver: {_flow(solver)}", f"run: {_flow(run)}", ""]
    return "\n".join(lines)


def _head(report: ImportReport, source: str, version: str) -> list[str]:
    counts = ", ".join(f"{count} {fate}" for fate, count in report.counts().items() if count)
    lines = [f"# Imported from {source} by simcli {version}: elements {counts or 'none'}."]
    for fate in ("changed", "dropped"):
        for kind, why, entries in report.sums(fate):
            names = ", ".join(dict.fromkeys(entry.name for entry in entries[:3] if entry.name))
            more = ", ..." if len(entries) > 3 else ""
            lines.append(f"#   {fate}: {len(entries)} {kind}: {why}" + (f" ({names}{more})" if names else ""))
    return [_printable(line) for line in lines]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _centre(joint: SourceJoint) -> object:
    """The middle of the limits of a joint as a scene writes it, with their unit if they have one."""
    limit = joint.words["limit"]
    bounds = [limit["lower"], limit["upper"]] if isinstance(limit, dict) else limit
    numbers = [float(str(bound).split()[0]) for bound in bounds]
    middle = sum(numbers) / 2
    return " ".join([f"{middle:.15g}", *bounds[0].split()[1:]]) if isinstance(bounds[0], str) else middle


def _world(mechanism: SourceModel) -> list[str]:
    world = mechanism.links[WORLD_NAME]
    words = mechanism.world_words | _frames(world) | _drawn(world)
    return [*_section(WORLD_NAME, words)[1:], ""] if words else []


def _body(link: SourceLink, mechanism: SourceModel) -> dict:
    words: dict = {}
    if mechanism.holder(link.name) is None and not link.frame.is_identity:
        words["pose"] = _pose(link.frame)
    if link.mass is not None:
        words["mass"] = link.mass
        words |= {"com": list(link.com)} if any(link.com) else {}
        words["inertia"] = _inertia(link)
    if link.points:
        words["points"] = {name: list(at) for name, at in link.points.items()}
    return words | _frames(link) | link.words | _drawn(link)


def _frames(link: SourceLink) -> dict:
    return {"frames": {name: _pose(frame) for name, frame in link.frames.items()}} if link.frames else {}


def _inertia(link: SourceLink) -> object:
    matrix = link.inertia
    if not link.has_mass or matrix is None or not matrix.any():
        return "point"
    if not (matrix - np.diag(np.diag(matrix))).any():
        return {"diag": np.diag(matrix).tolist()}
    return {"full": matrix.tolist()}


def _drawn(link: SourceLink) -> dict:
    """Shapes that collide, and how the link looks."""
    shapes, look = {}, body_look(link.shapes)
    solid = [shape for shape in link.shapes if shape.collides]
    seen = [shape for shape in link.shapes if not shape.collides]
    for shape in solid:
        words = dict(shape.words) | ({} if shape.frame.is_identity else {"pose": _pose(shape.frame)})
        shapes[shape.name] = words
    drawn = {}
    for shape in seen:
        words = dict(shape.words) | ({} if shape.frame.is_identity else {"pose": _pose(shape.frame)})
        drawn[shape.name] = words | own_look(shape, look)
    look |= {"shapes": drawn} if drawn else {}
    return ({"shapes": shapes} if shapes else {}) | ({"look": look} if look else {})


def _joint(joint: SourceJoint) -> dict:
    words = {"type": joint.type, "parent": joint.parent, "child": joint.child}
    if joint.parent_frame.is_identity and joint.child_frame.is_identity:
        words["parent_frame"] = {"xyz": [0, 0, 0]}
    for key in ("parent_frame", "child_frame"):
        frame = getattr(joint, key)
        if not frame.is_identity:
            words[key] = _pose(frame)
    if joint.axis is not None:
        words["axis"] = list(joint.axis)
    return words | joint.words


def _pose(frame: SourceFrame) -> dict:
    return ({"xyz": list(frame.xyz)} if any(frame.xyz) else {}) | (frame.words if frame.turns else {})


# Text.


def _place(entry: SourceLink | SourceJoint | SourceEntry, source: str) -> str:
    """Where an entry stands in the source: a line, or the path of a prim; "" for one that is not in it."""
    return f"{entry.file or source}:{entry.line}" if entry.line else entry.file


def _entry(name: str, words: dict, place: str) -> list[str]:
    """A body or a joint: in one line where that is short, else a key to a line."""
    comment = f"# {place}" if place else ""
    short = f"  {flow_text(name)}: {_flow(words)}"
    if len(short) + len(comment) + 2 <= _WIDTH and "shapes" not in words and "look" not in words:
        return [f"{short}  {comment}".rstrip()]
    return [f"{f'  {flow_text(name)}:':<{_COMMENT - 1}} {comment}".rstrip(), *_block(words, 4)]


def _section(name: str, words: dict) -> list[str]:
    return ["", f"{name}:", *_block(words, 2)] if words else []


def _block(words: dict, indent: int) -> list[str]:
    """A mapping with a key to a line; what is too long for one goes on below."""
    lines, space = [], " " * indent
    for key, value in words.items():
        line = f"{space}{flow_text(key)}: {_flow(value)}"
        if len(line) <= _WIDTH or not isinstance(value, dict | list) or not value:
            lines.append(line)
        elif isinstance(value, dict):
            lines += [f"{space}{flow_text(key)}:", *_block(value, indent + 2)]
        else:
            lines += [f"{space}{flow_text(key)}:", *(f"{space}  - {_flow(one)}" for one in value)]
    return lines


def _flow(value: object) -> str:
    """A value in one line."""
    return flow_text(_tidied(value))


def _tidied(value: object) -> object:
    """A value whose whole numbers are integers, as a person writes them."""
    if isinstance(value, dict):
        return {key: _tidied(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_tidied(one) for one in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE
    return int(value) if is_whole else value
