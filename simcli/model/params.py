"""What a batch varies: names, values, and the SI units of varied parameters by their dotted path."""

import re
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import numpy as np

from simcli.model.tables.model import Array
from simcli.spec.base import dofs
from simcli.spec.base.nodes import Scalar, TableNode, find, parse_path, walk_nodes
from simcli.spec.batches.world_values import PathColumn, n_worlds, world_columns
from simcli.spec.document.scene_file import Document
from simcli.spec.lookup.signal_uses import uses
from simcli.spec.schema.batch import VARY_KINDS
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.expressions import expression_free
from simcli.spec.values.quantities import own_unit
from simcli.spec.values.spec_model import SpecModel
from simcli.spec.values.units import UnitError, si_unit

# Keys of a joint whose unit depends on the kind of its dofs, also inside `limit`, `drive` and `motion`, to their role.
JOINT_ROLES = {
    "q": "position",
    "qd": "velocity",
    "init_angle": "position",
    "damping": "damping",
    "friction": "effort",
    "armature": "armature",
    "velocity_limit": "velocity",
    "limit": "position",
    "lower": "position",
    "upper": "position",
    "stiffness": "stiffness",
    "target": "position",
    "target_velocity": "velocity",
    "effort_limit": "effort",
    "position": "position",
    "velocity": "velocity",
}
DRIVING = ("constant", "amplitude", "offset", "before", "after", "from", "to", "value")  # of what a signal drives
FORCE_ROLES = {"value": "effort", "stiffness": "stiffness", "damping": "damping", "rest_angle": "position"}  # on a joint
_NUMERIC = (*"0123456789+-.$",)  # first characters of a text that is a number
_BRACKET = re.compile(r"\[([^\]]*)\](?:\.|$)")  # `doc` puts the unit in brackets behind the description


def param_unit(document: Document, spec: SceneSpec, path: str) -> str:
    """Unit of a number of a scene.

    Args:
        document: the scene as written: parameters, whose numbers may be anything, have the unit of their text, or of that
            of the values that they are varied over.
        spec: the scene.
        path: dotted path, as `joints.pin.damping` or `bodies.rod.com[0]`.

    Returns:
        SI unit, "" if it has none or it cannot be told.
    """
    return _known_unit(spec, path) or _written_unit(document, spec, path)


def _written_unit(document: Document, spec: SceneSpec, path: str) -> str:
    """The SI unit of the first text with a unit that is written for a path: in the scene, its batch, or its samples."""
    batch = document.root.get("batch")
    vary = batch.get("vary") if isinstance(batch, TableNode) else None
    varied = vary.get(path) if isinstance(vary, TableNode) else None
    ways = [varied.get(way) for way in (*VARY_KINDS, "low", "high")] if isinstance(varied, TableNode) else []
    nodes = [find(document.root, parse_path(path) or ("",)), *ways]
    texts = [one.value for node in nodes if node is not None for _, one in walk_nodes(node) if isinstance(one, Scalar)]
    units = [own_unit(expression_free(text)) for text in texts if isinstance(text, str) and text.strip()[:1] in _NUMERIC]
    table, earlier = spec.batch.table, spec.batch.vary.get(path)
    units += [table.read.values[path].unit] if table is not None and path in table.read.values else []
    units += [earlier.from_.column.unit] if earlier is not None and earlier.from_ is not None else []
    for unit in filter(None, units):
        try:
            return si_unit(unit)
        except UnitError:  # words, as of a choice
            continue
    return ""


def _known_unit(spec: SceneSpec, path: str) -> str:
    """The unit that the format gives a number."""
    steps = parse_path(path) or ()
    names = [step for step in steps if isinstance(step, str)]
    if names[:1] == ["joints"] and len(names) > 2 and names[1] in spec.joints and names[-1] in JOINT_ROLES:
        effort = names[-2:] == ["drive", "target"] and _is_effort(spec.joints[names[1]])
        return _joint_unit(spec, names[1], "effort" if effort else JOINT_ROLES[names[-1]], steps[-1])
    if names[:1] == ["signals"] and names[-1] in DRIVING:
        return _signal_unit(spec, names[1])
    state = names[2:] if names[:1] == ["keyframes"] else names[1:] if names[:1] == ["initial"] else []
    if len(state) == 2 and state[1] in spec.joints:
        return _joint_unit(spec, state[1], "position" if state[0] == "joint_q" else "velocity", steps[-1])
    if names[:1] == ["forces"] and len(names) > 2 and names[1] in spec.forces:
        force = spec.forces[names[1]]
        if force.type in ("torque", "torsion") and names[2] in FORCE_ROLES and force.joint in spec.joints:
            return _joint_unit(spec, force.joint, FORCE_ROLES[names[2]], steps[-1])
        return _schema_unit(steps[2:], type(force))
    return _schema_unit(steps)


def _signal_unit(spec: SceneSpec, name: str) -> str:
    """Unit of what a signal drives; "" if that differs, or if it drives nothing."""
    units = {use.unit for use in uses(spec) if use.signal == name}
    return units.pop() if len(units) == 1 else ""


def _is_effort(joint) -> bool:
    return bool(joint.drive) and joint.drive[0] is not None and joint.drive[0].mode == "effort"


def _joint_unit(spec: SceneSpec, name: str, role: str, last: str | int) -> str:
    """Unit of a role; of the entry that the path names, or of all dofs if they agree."""
    joint = spec.joints[name]
    kinds = dofs.q_kinds(joint.type, joint.dof_kinds) if role == "position" else joint.dof_kinds
    units = dofs.units(role, kinds)
    if isinstance(last, int) and last < len(units):
        return units[last]
    return units[0] if len(set(units)) == 1 else ""


def _schema_unit(steps: tuple[str | int, ...], start: type[SpecModel] = SceneSpec) -> str:
    kinds, unit = [start], ""
    for step in steps:
        below: list[Any] = []
        for kind in [part for whole in kinds for part in _alternatives(whole)]:
            origin, arguments = get_origin(kind), get_args(kind)
            if isinstance(kind, type) and issubclass(kind, SpecModel) and step in kind.model_fields:
                field = kind.model_fields[step]
                found = _BRACKET.search(field.description or "")
                unit = found.group(1) if found else ""
                below.append(field.annotation)
            elif origin is dict:
                below.append(arguments[1])
            elif origin in (list, tuple) and isinstance(step, int):
                below.append(arguments[0])
        kinds = below
    return unit if kinds else ""


def _alternatives(kind: Any) -> list[Any]:
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [one for part in get_args(kind) for one in _alternatives(part)]
    return [kind]


def world_table(spec: SceneSpec) -> tuple[tuple[str, ...], Array]:
    """What differs between the worlds of a batch, as it stands in the model of all worlds.

    Args:
        spec: the resolved scene, without the values of any world.

    Returns:
        Names of the varied parameters, (P,), and their values, (W, P).
    """
    return param_columns(world_columns(spec), n_worlds(spec))


def param_columns(columns: Mapping[str, PathColumn], count: int) -> tuple[tuple[str, ...], Array]:
    """Names and values of the varied numbers, (P,) and (count, P)."""
    names = tuple(_label(path, i) for path, column in columns.items() for i in param_components(column))
    values = [np.asarray(column, float).reshape(count, -1) for column in columns.values()]
    return names, np.concatenate(values, axis=1) if values else np.zeros((count, 0))


def _label(path: str, i: int | None) -> str:
    return path if i is None else f"{path}[{i}]"


def param_components(column: PathColumn) -> list[int | None]:
    """Numbers of the components of a varied value; None for that of a single number."""
    first = column[0]
    return list(range(len(first))) if isinstance(first, list | tuple | np.ndarray) else [None]
