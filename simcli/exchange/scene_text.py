"""A mechanism as the text of a scene, as a person would write it: names, numbers and order of the source, and its lines."""

import json
import re
from pathlib import PurePath

import numpy as np

from simcli.exchange.mechanism import SourceFrame, SourceJoint, SourceLink, SourceModel, SourceShape
from simcli.exchange.report import ImportReport
from simcli.spec.names.structure import WORLD_NAME

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"))
_WIDTH = 118
_COMMENT = 60  # column of comments behind short keys
_SOLID = "solid"  # material of shapes that name no own


def scene_text(mechanism: SourceModel, report: ImportReport, version: str) -> str:
    """The text of a scene.

    Args:
        mechanism: as it was read, every link with a mass.
        report: of the reading; its sums stand at the head.
        version: of this program.
    """
    source = PurePath(report.source).name
    materials = _Materials(mechanism)
    lines = [*_head(mechanism, report, source, version), "simcli: 1", f"name: {_title(mechanism.name)}", ""]
    lines += materials.lines()
    lines += _world(mechanism, materials, source)
    lines += ["bodies:"]
    for link in mechanism.links.values():
        if link.name != WORLD_NAME:
            lines += _entry(link.name, _body(link, mechanism, materials), source, link.line)
    lines += ["", "joints:"] if mechanism.joints else []
    for joint in mechanism.joints.values():
        lines += _entry(joint.name, _joint(joint), source, joint.line)
    lines += _section("forces", mechanism.forces)
    lines += _section("contact", _contact(mechanism))
    lines += _section("initial", {"joint_q": mechanism.initial} if mechanism.initial else {})
    lines += ["", f"solver: {flow_words({'type': 'generalized', 'dt': mechanism.dt or 1e-3})}", "run: {duration: 1}", ""]
    return "\n".join(lines)


def _head(mechanism: SourceModel, report: ImportReport, source: str, version: str) -> list[str]:
    counts = ", ".join(f"{count} {fate}" for fate, count in report.counts().items() if count)
    lines = [f"# Imported from {source} by simcli {version}: elements {counts or 'none'}."]
    for fate in ("changed", "dropped"):
        for kind, why, entries in report.sums(fate):
            names = ", ".join(dict.fromkeys(entry.name for entry in entries[:3] if entry.name))
            more = ", ..." if len(entries) > 3 else ""
            lines.append(f"#   {fate}: {len(entries)} {kind}: {why}" + (f" ({names}{more})" if names else ""))
    return [*(_printable(line) for line in lines), *(f"# {_printable(note)}" for note in mechanism.notes)]


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _title(name: str) -> str:
    found = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]
    return _scalar(found if found[:1].isalnum() or found[:1] == "_" else f"_{found}"[:100])


class _Materials:
    """Materials of contact that the shapes have, each once."""

    def __init__(self, mechanism: SourceModel):
        self.of: dict[tuple, str] = {}
        for link in mechanism.links.values():
            for shape in link.shapes:
                if shape.collides and shape.material:
                    key = tuple(sorted(shape.material.items()))
                    self.of.setdefault(key, f"m{len(self.of) + 1}")
        if len(self.of) == 1:
            self.of = dict.fromkeys(self.of, _SOLID)

    def name(self, shape: SourceShape) -> str:
        return self.of.get(tuple(sorted(shape.material.items())), "") if shape.collides else ""

    def lines(self) -> list[str]:
        return [*_section("materials", {name: dict(key) for key, name in self.of.items()})[1:], ""] if self.of else []


def _world(mechanism: SourceModel, materials: _Materials, source: str) -> list[str]:
    world = mechanism.links[WORLD_NAME]
    words: dict = {} if mechanism.gravity is None else {"gravity": list(mechanism.gravity)}
    words |= _drawn(world, materials)
    layers = []
    if not mechanism.touches_itself:
        layers = [f"defaults: {{shape: {flow_words({'layers': ['model'], 'touches': ['default']})}}}",
                  "# shapes of the model touch the world and what is added, but not each other", ""]  # fmt: skip
        for shape in words.get("shapes", {}).values():
            shape["layers"] = ["default"]
    return [*layers, *([*_section(WORLD_NAME, words)[1:], ""] if words else [])]


def _body(link: SourceLink, mechanism: SourceModel, materials: _Materials) -> dict:
    words: dict = {}
    if mechanism.holder(link.name) is None and not link.frame.is_identity:
        words["pose"] = _pose(link.frame)
    if link.is_prescribed:
        words["kinematic"] = True
    else:
        words["mass"] = link.mass
        if any(link.com):
            words["com"] = list(link.com)
        words["inertia"] = _inertia(link)
    if link.points:
        words["points"] = {name: list(at) for name, at in link.points.items()}
    return words | _drawn(link, materials)


def _inertia(link: SourceLink) -> object:
    matrix = link.inertia
    if not link.has_mass or matrix is None or not matrix.any():
        return "point"
    if not (matrix - np.diag(np.diag(matrix))).any():
        return {"diag": np.diag(matrix).tolist()}
    return {"full": matrix.tolist()}


def _drawn(link: SourceLink, materials: _Materials) -> dict:
    """Shapes that collide, and how the link looks."""
    shapes, look = {}, {}
    solid = [shape for shape in link.shapes if shape.collides]
    seen = [shape for shape in link.shapes if not shape.collides]
    for shape in solid:
        words = dict(shape.words) | ({} if shape.frame.is_identity else {"pose": _pose(shape.frame)})
        words |= {"material": name} if (name := materials.name(shape)) else {}
        words |= {key: list(value) for key in ("layers", "touches") if (value := getattr(shape, key)) is not None}
        shapes[shape.name] = words
    for group in (solid, seen):
        colours = {shape.colour for shape in group}
        if "colour" not in look and len(colours) == 1 and "" not in colours:
            look["colour"] = colours.pop()
    drawn = {}
    for shape in seen:
        words = dict(shape.words) | ({} if shape.frame.is_identity else {"pose": _pose(shape.frame)})
        words |= {"colour": shape.colour} if shape.colour not in ("", look.get("colour")) else {}
        drawn[shape.name] = words | ({"opacity": shape.opacity} if shape.opacity < 1.0 else {})
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


def _contact(mechanism: SourceModel) -> dict:
    return {"exclude": [list(pair) for pair in mechanism.exclude]} if mechanism.exclude else {}


# Text.


def _entry(name: str, words: dict, source: str, line: int) -> list[str]:
    """A body or a joint: in one line where that is short, else a key to a line."""
    comment = f"# {source}:{line}" if line else ""
    short = f"  {_scalar(name)}: {flow_words(words)}"
    if len(short) + len(comment) + 2 <= _WIDTH and "shapes" not in words and "look" not in words:
        return [f"{short}  {comment}".rstrip()]
    return [f"{f'  {_scalar(name)}:':<{_COMMENT}}{comment}".rstrip(), *block_lines(words, 4)]


def _section(name: str, words: dict) -> list[str]:
    return ["", f"{name}:", *block_lines(words, 2)] if words else []


def block_lines(words: dict, indent: int) -> list[str]:
    """A mapping with a key to a line; what is too long for one goes on below."""
    lines, space = [], " " * indent
    for key, value in words.items():
        line = f"{space}{_scalar(key)}: {flow_words(value)}"
        if len(line) <= _WIDTH or not isinstance(value, dict | list) or not value:
            lines.append(line)
        elif isinstance(value, dict):
            lines += [f"{space}{_scalar(key)}:", *block_lines(value, indent + 2)]
        else:
            lines += [f"{space}{_scalar(key)}:", *(f"{space}  - {flow_words(one)}" for one in value)]
    return lines


def flow_words(value: object) -> str:
    """A value in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {flow_words(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow_words, value)) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    text = str(value)
    return text if _PLAIN.match(text) and text.lower() not in _WORDS else json.dumps(text)


def _number(value: float) -> str:
    text = repr(value + 0.0)
    return text.removesuffix(".0")
