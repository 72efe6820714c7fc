"""A scene to a model: one world, or all worlds of a batch with a world axis where they differ."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simcli.errors import Where
from simcli.model.assemble import assemble
from simcli.model.bodies.body_inputs import ShapeReader, read_bodies, read_points, refuse_clashes
from simcli.model.bodies.contact_pairs import read_contacts, refuse_flat, with_driven_contacts
from simcli.model.body_refusals import (
    refuse_massless,
    refuse_not_representable,
    refuse_points,
    refuse_spins,
    refuse_vanishing,
    refuse_wheels,
)
from simcli.model.closure.begin import assembly_of, begun, refuse_start
from simcli.model.forces.bushing import read_bushings, read_cables
from simcli.model.forces.coupling import read_couplings, read_effort_curves, read_holds
from simcli.model.forces.ends import LINK_TABLES
from simcli.model.forces.ropes import read_ropes
from simcli.model.forces.spring import read_springs
from simcli.model.forces.wrench import add_torques, add_torsions, read_drags, read_wrenches
from simcli.model.forms.affine_inputs import read_affine
from simcli.model.forms.beside_axis import refuse_beside
from simcli.model.forms.maximal_form import refuse_differing
from simcli.model.forms.natural_coordinates import read_naturals
from simcli.model.initial_state import mark_named, read_start
from simcli.model.joints.catalogue import CATALOGUE
from simcli.model.joints.gears import read_gears
from simcli.model.joints.joint_inputs import JointReader, read_dofs
from simcli.model.joints.mechanism import JointInput, Mechanism
from simcli.model.joints.motion_axes import MotionAxis
from simcli.model.joints.selection import choose_written
from simcli.model.joints.topology import Step, depth_first, placing_order
from simcli.model.params import param_columns, param_components, param_unit
from simcli.model.sensor_inputs import read_sensors
from simcli.model.signals.feedback import read_feedback
from simcli.model.signals.inputs import with_signals
from simcli.model.signals.signal_values import read_signals
from simcli.model.tables.model import WORLD, JointKind, Model
from simcli.model.tables.worlds import Worlds, join, worlds_of
from simcli.spec import resolve
from simcli.spec.batches.world_values import (
    PathColumn,
    path_column,
    taken_from,
    values_of_world,
    world_columns,
    world_seeds,
)
from simcli.spec.document.scene_file import Document
from simcli.spec.lookup import structure
from simcli.spec.lookup.scene_values import AXES, NORMAL_INDEX, plane_normal
from simcli.spec.passes import ScenePass, passes_of
from simcli.spec.resolve import resolve_world
from simcli.spec.schema.scene import SceneSpec

# What reads the tables of forces; that of wrenches, which signals drive, is there before.
_READERS: dict[str, Callable[[Worlds, Model], Any]] = {
    "springs": read_springs,
    "ropes": read_ropes,
    "bushings": read_bushings,
    "combinations": read_couplings,
    "holds": read_holds,
    "effort_curves": read_effort_curves,
    "drags": read_drags,
}
if unread := {*LINK_TABLES} - {*_READERS, "wrenches"}:
    raise TypeError(f"nothing reads {unread} of a scene: name what does in _READERS of {__name__}")


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
    model = begun(_build(worlds_of([spec], _where(document)), document, Mechanism([], [])), assembly_of(spec))
    refuse_start(model.n_worlds, model.start, _where(document))
    return model


def build_worlds(
    document: Document,
    spec: SceneSpec,
    worlds: Sequence[int] | None = None,
    changes: Mapping[str, object] | None = None,
    each: Mapping[str, PathColumn] | None = None,
    tries_all: bool = False,
) -> Model:
    """Turn a scene into a model of all its worlds.

    Args:
        document: the scene as written.
        spec: it resolved, without the values of any world.
        worlds: numbers of the worlds of the batch that are built, in this order; None builds all.
        changes: dotted path to value, laid over the scene and over what the batch varies.
        each: likewise, with a value for each world. With one of them the model does not begin a run, and its initial state
            is as the scene wrote it.
        tries_all: take worlds that cannot begin, whose lack is in `start`, also if there are no others.

    Returns:
        The tables. Arrays that are equal in all worlds have a leading axis of length 1.

    Raises:
        SceneError: some world makes no mechanism, or none of them can begin.
    """
    model = _worlds(document, spec, worlds, changes or {}, each or {})
    if changes is None and each is None:
        if spec.solver.type == "maximal":
            refuse_differing(model, spec.solver, _where(document), worlds)
        model = begun(model, assembly_of(spec))
        if not tries_all:
            refuse_start(model.n_worlds, model.start, _where(document), worlds)
    return model


def _worlds(
    document: Document,
    spec: SceneSpec,
    worlds: Sequence[int] | None,
    changes: Mapping[str, object],
    each: Mapping[str, PathColumn],
) -> Model:
    """The model of `build_worlds` before it begins."""
    columns, seeds = world_columns(spec), np.asarray(world_seeds(spec), np.uint64)
    if worlds is not None:
        seeds = seeds[list(worlds)]
        columns = {path: taken_from(column, np.array(worlds)) for path, column in columns.items()}
    names, table = param_columns(columns, len(seeds))
    paths = (path for path, column in columns.items() for _ in param_components(column))
    of_batch = {
        "param_name": names,
        "param_unit": tuple(param_unit(document, spec, path) for path in paths),
        "param_value": table,
        "world_seed": seeds,
    }
    if not columns and not each:
        batch = Mechanism([], [], n_worlds=len(seeds), **of_batch)
        return _build(worlds_of([resolve(document, changes) if changes else spec], _where(document)), document, batch)
    columns |= {path: path_column([value] * len(seeds)) for path, value in changes.items()} | each
    return replace(build_values(document, columns, list(range(len(seeds)) if worlds is None else worlds)), **of_batch)


def build_values(document: Document, columns: Mapping[str, PathColumn], numbers: Sequence[int]) -> Model:
    """Turn a scene into a model of worlds with these values, which belong to no batch and begin no run.

    Args:
        document: the scene as written, resolved before.
        columns: dotted path to values, one for each world.
        numbers: of the worlds, for messages.

    Raises:
        SceneError: some world makes no mechanism.
    """
    first = resolve_world(document, values_of_world(columns, 0), numbers[0])
    if len(numbers) == 1:
        return _build(worlds_of([first], _where(document)), document, Mechanism([], []))
    pieces, places = [], []
    for passes in passes_of(document, columns, numbers):
        places += [one.worlds for one in passes]
        ends = np.cumsum([1, *(len(one.worlds) for one in passes)])  # world 0 stands before all for comparison
        here = [ScenePass(one.spec, np.arange(*ends[k : k + 2])) for k, one in enumerate(passes)]
        held = Worlds([ScenePass(first, np.zeros(1, int)), *here], first, _where(document))
        pieces.append(_build(held, document, Mechanism([], [], n_worlds=held.n_worlds)))
    return join(pieces, np.argsort(np.concatenate(places)), skip=1)


def build_together(document: Document, specs: list[SceneSpec]) -> Model:
    """Turn scenes that differ in numbers into one model with a world for each of them.

    Args:
        document: the scene as written.
        specs: the scenes.

    Raises:
        SceneError: one of them makes no mechanism.
    """
    return _build(worlds_of(specs, _where(document)), document, Mechanism([], [], n_worlds=len(specs)))


def _where(document: Document | None) -> Callable[[str], Where | None]:
    """Place of a dotted path."""
    return document.where if document else lambda path: Where("", 0, 0, path=path)


def _build(worlds: Worlds, document: Document | None, batch: Mechanism) -> Model:
    folder = document.folder if document else Path()
    shapes = ShapeReader(worlds, folder)
    bodies = read_bodies(worlds, shapes)
    reader = JointReader(worlds, bodies)
    joints, steps = _place_all(worlds, reader)
    for part in joints:
        if part.name in worlds.first.joints:
            read_dofs(worlds, part)
    read_gears(worlds, joints)
    read_start(worlds, joints, bodies)
    mark_named(document, worlds.first, joints)
    add_torques(worlds, joints)
    add_torsions(worlds, joints)
    signals = read_signals(worlds, folder)
    feedback = read_feedback(worlds, signals)
    worlds.raise_faults()
    mechanism = replace(
        batch,
        bodies=bodies,
        joints=joints,
        plane=NORMAL_INDEX.get(worlds.first.world.plane, -1),
        gravity=worlds.numbers(lambda s: s.world.gravity, (3,)),
        articulation_name=_articulations(worlds, joints, steps),
        shapes=shapes.table(),
        points=read_points(worlds),
        cables=read_cables(worlds, joints, reader),
        wrenches=read_wrenches(worlds, bodies),
    )
    model = replace(with_signals(worlds, assemble(mechanism), signals), feedback=feedback)
    refuse_vanishing(worlds, model)
    if worlds.first.solver.type == "generalized":
        refuse_massless(worlds, model)
    elif worlds.first.solver.type == "maximal":
        refuse_points(worlds, model)
    elif worlds.first.solver.type == "affine":
        refuse_points(worlds, model)
        model = replace(model, affine=read_affine(worlds, model, bodies))
    else:
        refuse_not_representable(worlds, model)
        model = replace(model, naturals=read_naturals(worlds, model.bodies, model.plane))
        worlds.raise_faults()
    contacts = read_contacts(worlds, model.shapes)
    refuse_flat(worlds, model.shapes, contacts)
    if contacts is not None and worlds.first.solver.type == "natural":
        refuse_spins(worlds, model)
    worlds.raise_faults()
    model = replace(
        model,
        **{table: read(worlds, model) for table, read in _READERS.items()},
        sensors=read_sensors(worlds, model),
        contacts=contacts,
    )
    model = with_driven_contacts(worlds, model)
    _refuse_output(worlds, model)
    worlds.raise_faults()
    refuse_wheels(worlds, model)
    if getattr(worlds.first.solver, "integrator", "") == "generalized_alpha":
        refuse_beside(worlds, model)
        worlds.raise_faults()
    return model


def _refuse_output(worlds: Worlds, model: Model) -> None:
    """Refuse an `output` for which no file can be written."""
    output = worlds.first.output
    everything = np.arange(model.n_bodies), np.arange(len(model.joints.name))
    (bodies, _), problem = (everything, "") if output.select is None else choose_written(model, output.select)
    if problem:
        worlds.fault("SC313", "output.select", problem, "include more, or exclude less")
    if not {"state", "bodies"}.isdisjoint(output.channels):
        kept = np.isin(model.points.body, bodies)
        refuse_clashes(worlds, [name for name, is_kept in zip(model.points.name, kept, strict=True) if is_kept])


def _place_all(worlds: Worlds, reader: JointReader) -> tuple[list[JointInput], list[Step]]:
    """Outline the joints, find the walk, and place bodies and anchors along it.

    Returns:
        The joints, and the walk.
    """
    tree = structure.tree(worlds.first)
    of_tree = set(tree.tree_joints)
    joints = [reader.outline(name, name in of_tree) for name in worlds.first.joints]
    worlds.raise_faults()
    motion = _free_motion(worlds.first.world.plane)
    kind = JointKind.FREE if worlds.first.world.plane is None else JointKind.PLANAR
    joints += [JointInput(f"{name}_free", kind, WORLD, reader.index[name], motion) for name in tree.free_bodies]
    steps = depth_first(*([getattr(part, key) for part in joints] for key in ("parent", "child", "is_tree")))
    for step, guide in placing_order(worlds, joints, steps):
        part = joints[step.joint]
        if part.name in worlds.first.joints:
            reader.place(part, step)
        else:
            reader.place_free(part, guide)
    for part in joints:
        if not part.is_tree:
            reader.anchors(part)
            reader.set_radius(part)
    worlds.raise_faults()
    for index, body in enumerate(reader.bodies):
        body.pose = reader.poses[index]
    return joints, steps


def _free_motion(plane: str | None) -> MotionAxis:
    """Axes along which bodies move that no joint holds: all, or in a planar scene those in the plane."""
    if plane is None:
        return CATALOGUE["free"].motion()
    return MotionAxis(np.array(AXES[plane]), np.array([plane_normal(plane)]))


def _articulations(worlds: Worlds, joints: list[JointInput], steps: list[Step]) -> tuple[str, ...]:
    """Number the joints by articulation: those listed, else one per tree, named after its root body."""
    listed = worlds.first.articulations
    bodies = list(worlds.first.bodies)
    of = {name: k for k, group in enumerate((listed or {}).values()) for name in group}
    names = list(listed or ())
    at_body: dict[int, int] = {}
    for step in steps:
        part = joints[step.joint]
        if listed is None and step.inner == WORLD:
            of[part.name] = len(names)
            names.append(bodies[step.outer])
        inherited = at_body.get(step.inner, -1) if listed is None else -1
        part.articulation = at_body[step.outer] = of.get(part.name, inherited)
    if listed is not None:  # a free joint that was made belongs to what hangs on its body
        below: dict[int, int] = {}
        for part in joints:
            for body in (part.parent, part.child) if part.articulation >= 0 else ():
                below.setdefault(body, part.articulation)
        for part in joints:
            if part.name not in worlds.first.joints:
                part.articulation = below.get(part.child, -1)
    return tuple(names)
