"""Names and references: every name that a scene uses must exist."""

import itertools
import re
from collections.abc import Iterable

from simcli.spec.base import dofs
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.base.nodes import Scalar, TableNode, find, format_path, walk_nodes
from simcli.spec.base.patterns import matching
from simcli.spec.base.scene_files import checked_file
from simcli.spec.batches.sample_files import named_files
from simcli.spec.checks.expectations import check_expectations, check_measures, check_watched
from simcli.spec.checks.geometry import check_contact_names
from simcli.spec.checks.quantities import check_recorded
from simcli.spec.expansion.keyframes import STATES
from simcli.spec.faults.checker import Checker
from simcli.spec.schema.force_base import TermSpec, kinds_of_terms
from simcli.spec.schema.joint import JointSpec
from simcli.spec.values.quantities import is_signal

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_RESOLVED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:/[A-Za-z0-9_-]+)*\Z")
# Keys of entries that name a body or a joint.
_NAMES_IN = {
    "joints": {"parent": "body", "child": "body"},
    "forces": {"body": "body", "joint": "joint"},
    "expect": {"body": "body", "joint": "joint"},
}


def check_names(check: Checker) -> None:
    """Names as they are written, before prefixes."""
    root = check.document.root
    resolved = root.get("resolved")
    pattern = _RESOLVED_NAME if isinstance(resolved, Scalar) and resolved.value is True else _NAME
    for path, table in _name_tables(root):
        for name, mark in table.keys.items():
            if name == "world" and path[-1] in ("bodies", "instances", "replicate"):
                check.fault("SC312", "the name `world` is reserved", mark=mark, hint="choose another name")
            elif not pattern.match(name):
                check.fault(
                    "SC312",
                    f"`{name[:40]}` is not a name",
                    mark=mark,
                    hint="letters, digits, _ and -, not a digit first",
                )


def _name_tables(root: TableNode) -> Iterable[tuple[tuple[str, ...], TableNode]]:
    sections = (
        "bodies",
        "joints",
        "forces",
        "signals",
        "sensors",
        "materials",
        "models",
        "instances",
        "replicate",
        "articulations",
        "keyframes",
    )
    roots = [((), root)]
    models = root.get("models")
    if isinstance(models, TableNode):
        roots += [(("models", name), node) for name, node in models.items.items() if isinstance(node, TableNode)]
    for prefix, node in roots:
        for section in sections:
            table = node.get(section)
            if isinstance(table, TableNode):
                yield (*prefix, section), table
        bodies = node.get("bodies")
        for owner in [*(bodies.items.values() if isinstance(bodies, TableNode) else ()), node.get("world")]:
            look = owner.get("look") if isinstance(owner, TableNode) else None
            for holder, inner in ((owner, "shapes"), (owner, "points"), (owner, "frames"), (look, "shapes")):
                table = holder.get(inner) if isinstance(holder, TableNode) else None
                if isinstance(table, TableNode):
                    yield (*prefix, "bodies", inner), table
    look = root.get("look")
    cameras = look.get("cameras") if isinstance(look, TableNode) else None
    if isinstance(cameras, TableNode):
        yield ("look", "cameras"), cameras


def check_references(check: Checker) -> None:
    """All references between parts."""
    for kind in (
        _bodies_and_joints,
        _forces,
        _materials,
        _files,
        _signals,
        _articulations,
        _patterns,
        check_contact_names,
        check_measures,
        check_expectations,
        _of_refused,
        check_watched,
        check_recorded,
    ):
        kind(check)


def _of_refused(check: Checker) -> None:
    """References of entries that the schema refused for another reason."""
    for section, name in sorted(check.broken):
        for key, of in _NAMES_IN.get(section, {}).items() if name else ():
            steps = (section, int(name) if section == "expect" else name, key)
            node = find(check.tree, steps)
            if isinstance(node, Scalar) and isinstance(node.value, str) and node.value != "world":
                {"body": check.body, "joint": check.joint_or_free}[of](node.value, format_path(steps))


def _bodies_and_joints(check: Checker) -> None:
    for name, joint in check.spec.joints.items():
        if joint.parent != "world":
            check.body(joint.parent, f"joints.{name}.parent")
        if joint.child == "world":
            check.fault(
                "SC410", f"the child of joint `{name}` is the world", f"joints.{name}.child", "swap parent and child"
            )
        else:
            check.body(joint.child, f"joints.{name}.child")
        if joint.parent == joint.child != "world":
            check.fault("SC411", f"joint `{name}` connects `{joint.child}` with itself", f"joints.{name}.child")
        if joint.mimic and check.joint(joint.mimic.joint, f"joints.{name}.mimic.joint") and joint.mimic.joint == name:
            check.fault("SC411", f"joint `{name}` mimics itself", f"joints.{name}.mimic.joint")
    for name, body in check.spec.bodies.items():
        for frame in body.frames.keys() & body.points.keys() if body.frames else ():
            check.fault(
                "SC302",
                f"body `{name}` has a point and a frame `{frame}`",
                f"bodies.{name}.frames.{frame}",
                "rename one",
                on_key=True,
            )
        for index, point in enumerate(body.natural.points if body.natural else ()):
            if point not in body.places:
                hint = did_you_mean(point, body.places, "points")
                check.fault("SC310", f"body `{name}` has no point `{point}`", f"bodies.{name}.natural.points[{index}]", hint)


def _forces(check: Checker) -> None:
    for name, force in check.spec.forces.items():
        path = f"forces.{name}"
        for key, end in force.ends():
            _end(check, end, f"{path}.{key}", force.type)
        if hasattr(force, "body"):
            check.body(force.body, f"{path}.body")
        if hasattr(force, "joint") and check.joint(force.joint, f"{path}.joint"):
            _per_dof(check, path, force)
        for key in force.TERMS:
            _terms(check, [f"{path}.{key}[{n}]" for n in range(len(getattr(force, key)))], force, getattr(force, key))


def _terms(check: Checker, paths: list[str], force, terms: tuple[TermSpec, ...]) -> None:
    """Coordinates that are there, each once, and of one kind unless the force says its unit."""
    for n, (path, term) in enumerate(zip(paths, terms, strict=True)):
        joint = check.spec.joints.get(term.joint) if check.joint(term.joint, f"{path}.joint") else None
        if joint is None:
            continue
        if joint.type not in dofs.GEARED:
            check.fault(
                "SC463",
                f"a `{joint.type}` joint has no scalar coordinates that a sum could take",
                f"{path}.joint",
                f"sums take {', '.join(sorted(dofs.GEARED))}",
            )
        elif term.dof >= len(joint.dof_kinds):
            check.fault(
                "SC463",
                f"joint `{term.joint}` has {len(joint.dof_kinds)} dof(s), and no dof {term.dof}",
                f"{path}.dof",
                f"from 0 to {len(joint.dof_kinds) - 1}",
            )
        elif any((term.joint, term.dof) == (other.joint, other.dof) for other in terms[:n]):
            check.fault("SC463", f"dof {term.dof} of joint `{term.joint}` is in the sum twice", path, "add the factors")
    if getattr(force, "unit", "m") is None and len(kinds_of_terms(check.spec.joints, terms)) > 1:
        check.fault(
            "SC213",
            f"the sum of a {force.type} adds turns to displacements",
            paths[0],
            "write `unit: m` (or rad), and factors that make it so",
        )


def _per_dof(check: Checker, path: str, force) -> None:
    """One number per dof of the joint; of some forces also one for all."""
    joint = check.spec.joints.get(force.joint)
    for key in force.PER_DOF:
        given, n = len(getattr(force, key)), len(joint.dof_kinds) if joint else 1
        if joint is not None and given != n and not (force.SPREADS and given == 1):
            message = f"`{key}` has {given} entries, joint `{force.joint}` has {n} dofs"
            check.fault("SC463", message, f"{path}.{key}", f"write {n} number(s)")


def _end(check: Checker, end, path: str, kind: str) -> None:
    if end.body is None or end.body == "world":
        if end.body == "world":
            check.fault("SC304", f"the end of a {kind} on the world", path, "write {world: [x, y, z]}")
        return
    at = f"{path}.body" if check.has(f"{path}.body") else path
    if not check.body(end.body, at) or end.point is None or end.body not in check.spec.bodies:
        return
    points = check.spec.bodies[end.body].places
    if end.point not in points:
        at = f"{path}.point" if check.has(f"{path}.point") else path
        check.fault("SC310", f"body `{end.body}` has no point `{end.point}`", at, did_you_mean(end.point, points, "points"))


def _materials(check: Checker) -> None:
    known = check.names["materials"]
    owners = [(f"bodies.{name}.shapes", body.shapes) for name, body in check.spec.bodies.items()]
    for path, shapes in [*owners, ("world.shapes", check.spec.world.shapes)]:
        for key, shape in shapes.items():
            if shape.material is not None and shape.material not in known and not check.is_refused("materials"):
                hint = did_you_mean(shape.material, known, "materials")
                check.fault("SC306", f"there is no material `{shape.material}`", f"{path}.{key}.material", hint)


def _files(check: Checker) -> None:
    """Meshes, terrain and tables lie below the scene's folder."""
    folder = check.document.folder
    for path, file in named_files(check.spec):
        check.document.note_input(checked_file(file, folder, folder, check.where(path), check.faults))


def _signals(check: Checker) -> None:
    known = check.names["signals"]
    for section in ("bodies", "joints", "forces"):
        table = check.tree.get(section)
        if not isinstance(table, TableNode) or not table.has_dollar:
            continue
        for path, node in walk_nodes(table, (section,)):
            if isinstance(node, Scalar) and is_signal(node.value) and node.value[1:] not in known:
                if check.is_lost(node.value[1:], "signals"):
                    continue
                name = node.value[1:]
                hint = f"a parameter is written `${{{name}}}`" if name in check.spec.params else ""
                hint = hint or did_you_mean(name, known, "signals")
                check.fault("SC311", f"there is no signal `{node.value}`", path, hint)


def _articulations(check: Checker) -> None:
    owner: dict[str, str] = {}
    for group, names in (check.spec.articulations or {}).items():
        for index, name in enumerate(names):
            path = f"articulations.{group}[{index}]"
            if not check.joint(name, path):
                continue
            if name in owner:
                check.fault("SC415", f"joint `{name}` is listed twice, in `{owner[name]}` and `{group}`", path, "keep one")
            owner.setdefault(name, group)


def _patterns(check: Checker) -> None:
    """Patterns of `initial`, of keyframes and of `output.select`: each must mean something."""
    joints = list(check.names["joints"])
    places = {name: index for index, name in enumerate(joints)}
    listed = {
        title: [places[name] for name in names if name in places]
        for title, names in (check.spec.articulations or {}).items()
    }
    free = check.free_joints
    states = {("initial",): check.spec.initial}
    states |= {("keyframes", name): keyframe for name, keyframe in check.spec.keyframes.items()}
    for where, key in itertools.product(states, STATES):
        for pattern, value in getattr(states[where], key).items():
            path = (*where, key, pattern)
            matched = matching([*joints, *free], pattern, listed)
            if not matched and not check.lacks_names("bodies", "joints", "articulations"):
                hint = _why_not_free(check, pattern) or did_you_mean(pattern, [*joints, *listed, *free], "joints")
                check.fault("SC454", f"`{pattern}` matches no joint", path, hint, on_key=True)
            for place in matched:
                if place < len(joints):
                    _start(check, joints[place], value, key, path)
    if check.spec.output.select is not None:
        _select(check, [*joints, *check.names["bodies"], *free], listed)


def _select(check: Checker, names: list[str], listed: dict[str, list[int]]) -> None:
    """Patterns that fit nothing; whether anything is left is asked of the model, which has articulations with all parts."""
    for key in ("include", "exclude"):
        for index, pattern in enumerate(getattr(check.spec.output.select, key) or ()):
            if not matching(names, pattern, listed) and not check.lacks_names("bodies", "joints", "articulations"):
                message = f"`{pattern}` matches no body, no joint and no listed articulation"
                hint = _why_not_free(check, pattern) or did_you_mean(pattern, [*names, *listed], "names")
                path = f"output.select.{key}[{index}]"
                check.fault("SC313", message, path if check.has(path) else f"output.select[{index}]", hint)


def _why_not_free(check: Checker, pattern: object) -> str:
    return check.why_not_free(pattern) if isinstance(pattern, str) else ""


def _start(check: Checker, name: str, value: object, key: str, path: tuple) -> None:
    joint = check.spec.joints.get(name)
    if joint is None:
        return
    n = check.n_q(joint) if key == "joint_q" else len(joint.dof_kinds)
    if value == "center":
        reason, hint = _no_middle(check, joint)
        if reason:
            check.fault("SC458", f"`center` for joint `{name}`, {reason}", path, hint)
    elif len(value) != n:
        check.fault("SC463", f"{len(value)} value(s) for joint `{name}`, which has {n}", path, f"write {n} number(s)")


def _no_middle(check: Checker, joint: JointSpec) -> tuple[str, str]:
    """Why a joint has no middle of its limits, and what to write; "" if it has one, or nothing to centre."""
    kinds = joint.dof_kinds
    if check.n_q(joint) != len(kinds):
        return "whose coordinates hold a quaternion", "name other joints, or write its numbers"
    if kinds and joint.limit is None:
        return "which has no limits", "add `limit: [lower, upper]` to the joint, or write a number"
    for bound in ("lower", "upper"):
        if any(limit is None or getattr(limit, bound) is None for limit in joint.limit or ()):
            return f"whose limit has no {bound} bound", "write both bounds, or a number"
    return "", ""
