"""The mechanism that a command on states is about: a scene file, or the scene inside a run or a result.

A run gives its own mechanism: the structure from the scene in its /provenance, the numbers of each of its worlds from
/model. A scene of one's own may be given states of a run: the names must agree, the numbers are the scene's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path

import numpy as np

from simcli.analysis.states.columns import column_difference
from simcli.analysis.worlds.world_table import column_of
from simcli.errors import Fault, FileError, SceneError, UsageError
from simcli.exchange.importing import load_scene
from simcli.model.from_scene import build, build_worlds
from simcli.model.joints.edit import with_numbers
from simcli.model.params import world_table
from simcli.model.tables.model import TABLES, Model
from simcli.records.contents.layout import NAME_SCALES
from simcli.records.contents.model_columns import COLUMNS, model_arrays
from simcli.records.contents.select import axes_of
from simcli.records.hdf5_bytes import is_hdf5
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.result_reader import Results, open_any
from simcli.spec import Document, SceneSpec, document_of_text, n_worlds, resolve, resolved_yaml
from simcli.spec.schema.body import InertiaSpec

_NOT_HONOURED = {"SC501"}  # the scene is sound, but its solver cannot run it: kinematics need no solver
NO_FILE = ("SC110", "SC111")
_SAME = 1e-9  # relative: other versions and machines may round otherwise, nobody means less than this
# Tables that say how a run starts, is driven and drawn: not what its states mean.
NOT_COMPARED = (
    "initial_",
    "applied_",
    "shape_",
    "dof_drive_",
    "dof_limit_",
    "dof_damping",
    "dof_friction",
    "dof_effort_",
    "dof_velocity_",
    "body_q",
    "joint_articulation",
)
# Tables whose world axes COLUMNS knows; links follow from them.
_TABLES = {"links", *(name for name, kind in TABLES.items() if not kind.in_files.left_out)}


@dataclass(frozen=True)
class Subject:
    """A mechanism.

    Attributes:
        path: of the scene, or of the file that holds it.
        document: its text.
        spec: its meaning; of a run without its batch.
        file: the run or result that holds it, None for a scene file.
        has_shapes: whether the model of a run has its shapes, whose meshes must be at hand then.
    """

    path: Path
    document: Document
    spec: SceneSpec
    file: Trajectory | Results | None = None
    has_shapes: bool = False

    @property
    def n_worlds(self) -> int:
        """Worlds of the scene's batch, or of the run."""
        return self.file.n_worlds if isinstance(self.file, Trajectory) else n_worlds(self.spec)

    def build(self, world: int | None = None) -> Model:
        """The tables of one world, or of all.

        Raises:
            SceneError: the scene makes no mechanism.
            FileError: the tables of the run are not those of its scene.
        """
        try:
            if isinstance(self.file, Trajectory):
                base = build(self.spec if self.has_shapes else without_shapes(self.spec), self.document)
                check_mechanism_names(base, self.file)
                return stored_model(base, self.file.model, self.file.path, world)
            return build_worlds(self.document, self.spec, None if world is None else (world,))
        except SceneError as error:
            error.document = self.document
            raise


def without_shapes(spec: SceneSpec) -> SceneSpec:
    """The scene with bodies of any mass, so that no mesh file is needed: the tables of a run know the masses."""
    unit = {"mass": 1.0, "com": (0.0, 0.0, 0.0), "inertia": InertiaSpec(diag=(1.0, 1.0, 1.0)), "shapes": {}}
    bodies = {name: body.model_copy(update=unit) for name, body in spec.bodies.items()}
    return spec.model_copy(update={"bodies": bodies, "world": spec.world.model_copy(update={"shapes": {}})})


def open_subject(path: Path, sets: Sequence[str] = (), needs_forces: bool = False, needs_shapes: bool = False) -> Subject:
    """Read a scene, or the scene inside a run or a result.

    Args:
        path: YAML or HDF5.
        sets: overrides of the command line.
        needs_forces: False if only the mechanism matters: fields that its solver would refuse are then let through.
        needs_shapes: see `Subject.has_shapes`.

    Raises:
        SceneError: the scene is invalid.
        FileError: the file is damaged or not ours.
        UsageError: overrides for a file that is no scene; a result of a batch.
    """
    if not is_hdf5(path):
        document = load_scene(path, sets, column_of)
        return Subject(path, document, _understand(document, needs_forces))
    if sets:
        raise UsageError(f"--set changes a scene, and {path} is none: write SCENE --set ... --states {path}")
    file = open_any(path)
    try:
        if isinstance(file, Trajectory):
            document, spec = scene_of(file, needs_forces)
        else:
            document, spec = _scene_of_result(file, needs_forces)
        return Subject(path, document, spec, file, needs_shapes)
    except BaseException:
        file.close()
        raise


def _understand(document: Document, needs_forces: bool, needs_meshes: bool = True) -> SceneSpec:
    try:
        return resolve(document)
    except SceneError as error:
        serious = [
            fault
            for fault in error.faults
            if not ((fault.code in _NOT_HONOURED and not needs_forces) or (_is_of_mesh(fault) and not needs_meshes))
        ]
        if error.spec is None or serious:
            raise
        return error.spec


def _is_of_mesh(fault: Fault) -> bool:
    """Whether a fault is that the file of a shape, or of one that is only seen, is not there."""
    return fault.code in NO_FILE and fault.where is not None and ".shapes." in fault.where.path


def _scene_of_result(result: Results, needs_forces: bool) -> tuple[Document, SceneSpec]:
    """The scene of a result, unless it is a batch: a result does not hold the numbers of its worlds."""
    text, name = result.provenance.scene_resolved, f"{result.path}#scene_resolved"
    document = document_of_text(text, name, ["batch={}"])
    spec = _understand(document, needs_forces)
    try:
        same = resolved_yaml(spec) == resolved_yaml(_understand(document_of_text(text, name), needs_forces))
    except SceneError:  # what it varies went into expressions, which a resolved scene has no more
        same = False
    if not same:
        raise UsageError(f"{result.path}: is of a batch of worlds; give the scene: SCENE --states {result.path}")
    return document, spec


def scene_of(run: Trajectory, needs_forces: bool = False) -> tuple[Document, SceneSpec]:
    """The scene that a run was made from, as the command line set it, without its batch.

    What the batch varied stands in /model world by world; the scene as resolved has lost the expressions that used it.

    Raises:
        SceneError: this version cannot read it.
    """
    document = document_of_text(run.provenance.scene_resolved, f"{run.path}#scene_resolved", ["batch={}"])
    return document, _understand(document, needs_forces, needs_meshes=False)  # /model has what shapes give: masses


def worlds_of_run(subject: Subject, run: Trajectory) -> np.ndarray:
    """World of the subject for each world of a run, (W,).

    Raises:
        UsageError: the run has other worlds than the scene.
    """
    n = subject.n_worlds
    if n == run.n_worlds:
        return np.arange(n)
    if n == 1:
        return np.zeros(run.n_worlds, np.int64)
    if run.n_worlds == 1:  # one world of the batch, replayed
        found = _replayed(subject, run)
        if found is not None:
            return np.array([found])
    raise UsageError(
        f"{run.path} has worlds 0 to {run.n_worlds - 1}, the scene 0 to {n - 1}, and none says which is which: "
        f"give the run alone, without the scene"
    )


def _replayed(subject: Subject, run: Trajectory) -> int | None:
    """The world of the batch that has the parameters of a run of one world."""
    names, values = world_table(subject.spec)
    if tuple(run.params) != names:
        return None
    mine = np.array([column[0] for column in run.params.values()])
    same = np.flatnonzero(np.isclose(values, mine, rtol=_SAME, atol=0.0).all(axis=1))
    return int(same[0]) if len(same) else None


def check_mechanism_names(model: Model, run: Trajectory) -> None:
    """Refuse a run of another mechanism.

    Raises:
        UsageError: with what differs.
    """
    mine = axes_of(model).label
    theirs = {"J": run.joints, "B": run.bodies, **{axis: tuple(run.model[NAME_SCALES[axis]]) for axis in ("NQ", "NV")}}
    for axis, what in {"J": "joints", "B": "bodies", "NQ": "coordinates", "NV": "velocities"}.items():
        if theirs[axis] == mine[axis]:
            continue
        change = column_difference(theirs[axis], mine[axis])
        if set(theirs[axis]) < set(mine[axis]):
            raise UsageError(
                f"{run.path}: keeps only some of the {what} ({change}), and states need all of them: run the "
                "scene without `output.select`"
            )
        raise UsageError(f"{run.path}: has not the {what} of the scene: {change}")


def differing(model: Model, seats: np.ndarray, wanted: np.ndarray, run: Trajectory) -> list[str]:
    """Tables of /model in which a run differs from a model beyond rounding.

    Args:
        model: of the same names.
        seats: world of the model for each world of the run, (W,).
        wanted: worlds of the run to look at.
        run: an open file.
    """
    arrays, names = model_arrays(model, axes_of(model)), []
    for column in COLUMNS:
        if column.name.startswith(NOT_COMPARED):
            continue
        mine, theirs = arrays[column.name], run.model[column.name]
        if column.axes[:1] == ("W|1",):
            mine = mine[seats[wanted]] if len(mine) > 1 else mine
            theirs = theirs[wanted] if len(theirs) > 1 else theirs
            if mine.shape[1:] == theirs.shape[1:] and 1 in (len(mine), len(theirs)):
                mine, theirs = np.broadcast_arrays(mine, theirs)
        if mine.shape != theirs.shape or not np.allclose(mine, theirs, rtol=_SAME, atol=_SAME, equal_nan=True):
            names.append(column.name)
    return names


def of_one_world(model: Model) -> Model:
    """A model that serves any number of states, if its worlds differ in nothing but their initial states."""
    varies = [
        column.name
        for column in COLUMNS
        if column.axes[:1] == ("W|1",) and len(column.read(model)) > 1 and not column.name.startswith("initial_")
    ]
    for name, table in vars(model).items():
        if name not in _TABLES:  # whose world axes COLUMNS does not know
            columns = vars(table).values() if is_dataclass(table) else ()
            varies += [name for column in columns if np.shape(column)[:1] == (model.n_worlds,)]
    return model if varies else replace(model, n_worlds=1, joint_q=model.joint_q[:1], joint_qd=model.joint_qd[:1])


def stored_model(base: Model, tables: Mapping[str, np.ndarray], path: str, world: int | None = None) -> Model:
    """The model of a run.

    Args:
        base: of its scene, one world; where it has no shapes, those of the file are left out.
        tables: /model of the file.
        path: of the file, for messages.
        world: one world alone; None for all.

    Raises:
        FileError: the tables are not those of the scene.
    """
    columns, wrong, has_shapes = {}, [], bool(base.shapes.name)
    for column in COLUMNS:
        if not column.path or (column.path.startswith("shapes.") and not (has_shapes and column.axes[0] == "W|1")):
            continue
        mine, theirs = column.read(base), tables[column.name]
        if column.axes[0] != "W|1":
            if mine.shape != theirs.shape or (mine != theirs).any():
                wrong.append(column.name)
        elif theirs.shape[1:] != mine.shape[1:]:
            wrong.append(column.name)
        else:
            columns[column.path] = theirs[world : world + 1] if world is not None and len(theirs) > 1 else theirs
    if wrong:
        raise FileError(f"{path}: the scene in /provenance and /model disagree in {', '.join(wrong[:6])}")
    n_worlds = 1 if world is not None else max([1, *map(len, columns.values())])
    return with_numbers(base, columns, n_worlds)
