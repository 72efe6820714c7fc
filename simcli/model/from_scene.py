"""A scene to a model: one world, or all worlds of a batch with a world axis where they differ."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from simcli.errors import Where
from simcli.model.assemble import assemble
from simcli.model.body_parts import ShapeReader, read_bodies
from simcli.model.forces import add_torques, read_points, read_springs, read_wrenches
from simcli.model.gather import Worlds
from simcli.model.join import join
from simcli.model.joint_parts import JointReader, read_dofs
from simcli.model.joints import CATALOGUE
from simcli.model.mechanism import JointPart, Mechanism
from simcli.model.param_units import param_unit
from simcli.model.reference import SINGULAR, dof_inertia
from simcli.model.start import read_start
from simcli.model.tables import WORLD, JointKind, LinkKind, Model
from simcli.model.topology import depth_first
from simcli.spec import resolve, structure
from simcli.spec.batch import world_seeds, world_values
from simcli.spec.document import Document
from simcli.spec.schema import SceneSpec

CHUNK = 2048  # worlds whose scenes are in memory at once, some 20 kB each; world 0 stands before each for comparison


def build(spec: SceneSpec, document: Document | None = None) -> Model:
    """Turn a scene into a model of one world.

    Args:
        spec: the scene, checked.
        document: where it was read from: gives faults their place and meshes their folder.

    Returns:
        The tables, W = 1.

    Raises:
        SceneError: the scene makes no mechanism; all faults of a stage at once.
    """
    return _build([spec], document, Mechanism([], []))


def build_worlds(document: Document, spec: SceneSpec, world: int | None = None) -> Model:
    """Turn a scene into a model of all its worlds.

    Args:
        document: the scene as written.
        spec: it resolved, without the values of any world.
        world: build this world of the batch alone; None builds all.

    Returns:
        The tables. Arrays that are equal in all worlds have a leading axis of length 1.

    Raises:
        SceneError: some world makes no mechanism.
    """
    values = world_values(document, spec)
    seeds = np.asarray(world_seeds(spec), np.uint64)
    if world is not None:
        values, seeds = values[world : world + 1], seeds[world : world + 1]
    names = [(path, i) for path, value in values[0].items() for i in _components(value)]
    table = [[one[path] if i is None else one[path][i] for path, i in names] for one in values]
    batch = Mechanism(
        [],
        [],
        n_worlds=len(values),
        param_name=tuple(path if i is None else f"{path}[{i}]" for path, i in names),
        param_unit=tuple(param_unit(spec, path) for path, _ in names),
        param_value=np.array(table, float).reshape(len(values), len(names)),
        world_seed=seeds,
    )
    if not names:
        return _build([spec], document, batch)
    first = resolve(document, values[0])
    if len(values) == 1:
        return _build([first], document, batch)
    pieces = []
    for start in range(0, len(values), CHUNK):
        chosen = slice(start, start + CHUNK)
        specs = [first, *(resolve(document, one) for one in values[chosen])]
        pieces.append(_build(specs, document, Mechanism([], [], n_worlds=len(specs))))
    model = join(pieces, skip=1)
    return replace(model, param_name=batch.param_name, param_unit=batch.param_unit, param_value=batch.param_value,
                   world_seed=batch.world_seed)  # fmt: skip


def _components(value: object) -> list[int | None]:
    return list(range(len(value))) if isinstance(value, list | tuple) else [None]


def _build(specs: list[SceneSpec], document: Document | None, batch: Mechanism) -> Model:
    where: Callable[[str], Where | None] = document.where if document else lambda path: Where("", 0, 0, path=path)
    worlds = Worlds(specs, where)
    _refuse_planar(worlds)
    shapes = ShapeReader(worlds, document.folder if document else Path())
    bodies = read_bodies(worlds, shapes)
    reader = JointReader(worlds, bodies)
    joints = _place_all(worlds, reader)
    for part in joints:
        if part.name in worlds.first.joints:
            read_dofs(worlds, part)
    read_start(worlds, joints)
    add_torques(worlds, joints)
    worlds.raise_faults()
    mechanism = replace(
        batch,
        bodies=bodies,
        joints=joints,
        gravity=worlds.numbers(lambda s: s.world.gravity, (3,)),
        articulation_name=_articulations(worlds, joints),
        shapes=shapes.table(),
        points=read_points(worlds),
        wrenches=read_wrenches(worlds, bodies),
    )
    model = assemble(mechanism)
    if worlds.first.solver.type == "generalized":
        _refuse_weightless(worlds, model)
    return replace(model, springs=read_springs(worlds, model))


def _refuse_planar(worlds: Worlds) -> None:
    if worlds.first.world.plane is not None and worlds.first.solver.type != "natural":
        message = f"a planar scene (plane {worlds.first.world.plane}) is built for the natural solver only"
        worlds.fault("SC457", "world.plane", message, "leave `plane` out; joints can keep the bodies in a plane")
    worlds.raise_faults()


def _place_all(worlds: Worlds, reader: JointReader) -> list[JointPart]:
    """Outline the joints, find the walk, and place bodies and anchors along it."""
    tree = structure.tree(worlds.first)
    joints = [reader.outline(name, name in tree.tree_joints) for name in worlds.first.joints]
    worlds.raise_faults()
    for name in tree.free_bodies:
        entry = CATALOGUE["free"]
        joints.append(JointPart(f"{name}_free", JointKind.FREE, WORLD, reader.index[name], entry.motion()))
    steps = depth_first(*([getattr(part, key) for part in joints] for key in ("parent", "child", "is_tree")))
    for step in steps:
        part = joints[step.joint]
        if part.name in worlds.first.joints:
            reader.place(part, step)
        else:
            reader.place_free(part)
    for part in joints:
        if not part.is_tree:
            reader.anchors(part)
    worlds.raise_faults()
    for index, body in enumerate(reader.bodies):
        body.pose = reader.poses[index]
    return joints


def _articulations(worlds: Worlds, joints: list[JointPart]) -> tuple[str, ...]:
    """Number the joints by articulation: those listed, else one per tree, named after its root body."""
    listed = worlds.first.articulations
    bodies = list(worlds.first.bodies)
    of = {name: k for k, group in enumerate((listed or {}).values()) for name in group}
    names = list(listed or ())
    at_body: dict[int, int] = {}
    for step in depth_first(*([getattr(part, key) for part in joints] for key in ("parent", "child", "is_tree"))):
        part = joints[step.joint]
        if listed is None and step.inner == WORLD:
            of[part.name] = len(names)
            names.append(bodies[step.outer])
        inherited = at_body.get(step.inner, -1) if listed is None else -1
        part.articulation = at_body[step.outer] = of.get(part.name, inherited)
    if listed is not None:  # a free joint that was made belongs to what hangs on its body
        for part in joints:
            if part.name not in worlds.first.joints:
                below = [k.articulation for k in joints if part.child in (k.parent, k.child) and k.articulation >= 0]
                part.articulation = below[0] if below else -1
    return tuple(names)


def _refuse_weightless(worlds: Worlds, model: Model) -> None:
    """Refuse dofs along which nothing has inertia: their acceleration has no value."""
    D, scale = dof_inertia(model, model.joint_q)
    for k in range(model.n_links):
        if not model.links.n_qd[k]:
            continue
        unit = np.sqrt(np.maximum(scale[k], np.finfo(float).tiny))
        weakest = np.linalg.eigvalsh(D[k] / unit[:, :, None] / unit[:, None, :])[:, 0]
        if weakest.min() > SINGULAR and scale[k].min() > 0.0:
            continue
        joint = model.links.joint[k]
        name = model.joints.name[joint]
        body = model.bodies.name[model.joints.child[joint]]
        turning = "a rotation" if model.links.kind[k] != LinkKind.HELIX or model.links.turn[k] else "a displacement"
        message = f"joint `{name}` has {turning} that moves no inertia (body `{body}` and what hangs on it)"
        hint = "give the body inertia about this axis, or the joint armature"
        path = f"joints.{name}" if name in worlds.first.joints else f"bodies.{body}"
        worlds.fault("SC452", path, message, hint)
    worlds.raise_faults()
