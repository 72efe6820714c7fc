"""What is to be seen: some worlds of a run, or of a scene that was not run, at its start or at states that are given."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from simcli.analysis.states.portions import Choice, States
from simcli.analysis.states.subject import Subject as Mechanism
from simcli.analysis.states.subject import open_subject, scene_of
from simcli.analysis.worlds.world_table import WorldTable, column_of, read_table
from simcli.errors import SceneError, UsageError
from simcli.exchange.importing import load_scene
from simcli.model.from_scene import build_worlds
from simcli.model.params import world_table
from simcli.model.tables.model import Model
from simcli.model.tables.worlds import model_of_worlds
from simcli.records.reading.reader import Trajectory
from simcli.spec import Document, SceneSpec, load_document, n_worlds, resolve
from simcli.spec.base.scene_files import HeldPath
from simcli.spec.document.overrides import Override
from simcli.view.drawing.items import Drawing
from simcli.view.drawing.scene import drawing_of, drawing_of_run
from simcli.view.motion import RecordedMotion, motion_of_model, motion_of_run, motion_of_states

STATE_S = 0.5  # [s] that a state is shown which has no time of its own
STATES_AT_ONCE = 65536


@dataclass(frozen=True)
class ViewSubject:
    """Some worlds of a run or a scene.

    Attributes:
        path: of the file or scene.
        spec: the scene; of a run the one inside, with the look of another if one is given.
        folder: where files that its look names are.
        worlds: numbers of those that are seen.
        run: the open file, None for a scene.
        model: of the scene, None for a run.
        document: of the scene, None for a run.
        notes: what cannot be shown, and why.
        states: at which the scene is seen, one after the other; None: at its start.
    """

    path: Path
    spec: SceneSpec
    folder: Path
    worlds: tuple[int, ...]
    run: Trajectory | None = None
    model: Model | None = None
    document: Document | None = None
    notes: tuple[str, ...] = ()
    states: States | None = None

    @cached_property
    def drawings(self) -> list[Drawing]:
        """The drawing of each world."""
        varied = len(self.run.params if self.run else self.model.param_name) > 0
        made: dict[int, Drawing] = {}
        for world in self.worlds if varied else (0,):
            unit = next(iter(made.values())).unit if made else 0.0  # glyphs are of one size in all worlds
            made[world] = (
                drawing_of_run(self.spec, self.run, world, self.folder, unit)
                if self.run
                else drawing_of(self.spec, self.model, world, self.folder, unit)
            )
        return [made[world if varied else 0] for world in self.worlds]

    def motion(self, frames: slice = slice(None)) -> RecordedMotion:
        """The motion of the worlds."""
        if self.states is not None:
            return motion_of_states(self.model, self.states, self.worlds, frames)
        if self.run is None:
            return motion_of_model(self.model, self.worlds)
        mechanism = Mechanism(self.path, None, self.spec, self.run)
        return motion_of_run(self.run, self.worlds, frames, mechanism.build)

    @cached_property
    def table(self) -> WorldTable | None:
        """Parameters, measures and status of the worlds; None of a scene."""
        return read_table([self.run]).only(self.worlds, [self.run]) if self.run else None

    @cached_property
    def params(self) -> list[tuple[str, str, list[float]]]:
        """What differs between the worlds: name, unit, values."""
        if self.table is not None:
            return [(one.name, one.unit, one.values.tolist()) for one in self.table.columns.values() if one.is_varied]
        names, values = world_table(self.spec)
        return [(name, "", values[list(self.worlds), k].tolist()) for k, name in enumerate(names)]


def subject_of_scene(
    path: Path, sets: Sequence[str | Override] = (), worlds: Sequence[int] | None = None, most: int = 1
) -> ViewSubject:
    """A scene at its start.

    Args:
        path: of the scene.
        sets: overrides of the command line.
        worlds: of its batch; None: the first.
        most: how many worlds None means.

    Raises:
        SceneError: the scene is invalid.
        UsageError: it has not these worlds.
    """
    document = load_scene(path, sets, column_of)
    spec = resolve(document)
    total = n_worlds(spec)
    chosen = tuple(range(min(total, most)) if worlds is None else worlds)
    _check(chosen, total, path)
    return ViewSubject(path, spec, document.folder, chosen, model=build_worlds(document, spec), document=document)


def subject_of_states(
    path: Path, states: Path | None, sets: Sequence[str] = (), worlds: Sequence[int] | None = None
) -> ViewSubject:
    """A scene at states that are given, one after the other.

    Args:
        path: of the scene, or of a result.
        states: file of states: a run, a result, a CSV table; None: those of the result.
        sets: overrides of the command line.
        worlds: the one whose states are seen; None: all states are of one.

    Raises:
        SceneError: the scene is invalid.
        UsageError: there are no states, or they are of several worlds.
        FileError: a file is damaged; with the line of a table.
    """
    from simcli.analysis.mechanics.rigid_body_tasks import Forward
    from simcli.analysis.mechanics.state_sources import prepare_states

    with ExitStack() as files:
        mechanism = open_subject(path, sets)
        if mechanism.file is not None:
            files.enter_context(mechanism.file)
        ready = prepare_states(mechanism, states, Choice(worlds=worlds), {}, Forward())
        if ready.file is not None:
            files.enter_context(ready.file)
        where, found = ready.source.where, list(ready.source.portions(STATES_AT_ONCE))
    time, world = (np.concatenate([getattr(one, name) for one in found] or [[]]) for name in ("time", "world"))
    if not len(time):
        raise UsageError(f"{where}: no states")
    if len(seen := np.unique(world)) > 1:
        raise UsageError(f"{where}: states of worlds {seen[0]} to {seen[-1]}: choose one with --world I")
    notes: tuple[str, ...] = ()
    if not (np.diff(time, prepend=-np.inf) > 0).all():  # NaN, or several states of one time
        time = STATE_S * np.arange(len(time))
        notes = (f"the states have no times that follow each other: one each {STATE_S:g} s",) * (len(time) > 1)
    held = States(time, world, np.arange(len(time)), {"joint_q": np.concatenate([one.values["joint_q"] for one in found])})
    model = model_of_worlds(ready.model, ready.seats[seen])
    number = (int(ready.numbers[seen[0]]),)
    return ViewSubject(path, mechanism.spec, mechanism.document.folder, number, None, model, mechanism.document, notes, held)


def subject_of_run(
    run: Trajectory, worlds: Sequence[int] | None = None, most: int = 1, look: Path | None = None
) -> ViewSubject:
    """A run.

    Args:
        run: an open file.
        worlds: which; None: the first.
        most: how many worlds None means.
        look: scene whose look is taken instead of that of the scene inside.

    Raises:
        SceneError: the scene of `look` is invalid.
        UsageError: the run has not these worlds.
    """
    chosen = tuple(range(min(run.n_worlds, most)) if worlds is None else worlds)
    _check(chosen, run.n_worlds, run.path)
    spec, notes = _scene_inside(run)
    folder = _folder(run)
    if look is not None:
        document = load_document(look, read_run=column_of)
        spec, folder = _looking_as(spec, resolve(document)), document.folder
    return ViewSubject(Path(run.path), spec, folder, chosen, run, notes=notes)


def _check(worlds: Sequence[int], total: int, path: object) -> None:
    outside = [world for world in worlds if not 0 <= world < total]
    if outside:
        raise UsageError(f"no world {outside[0]} in {path}: it has 0 to {total - 1}")


def _scene_inside(run: Trajectory) -> tuple[SceneSpec, tuple[str, ...]]:
    """The scene in a file, as far as this version reads it: the tables of the file do without."""
    try:
        return scene_of(run)[1], ()
    except SceneError as error:
        if error.spec is not None:
            return error.spec, ()
        what = "the scene inside cannot be read by this version: colours and terrain of its own are left out"
        return SceneSpec(simcli=1), (what,)


def _looking_as(spec: SceneSpec, other: SceneSpec) -> SceneSpec:
    """A scene with the look of another, body by body."""
    bodies = {
        name: body.model_copy(update={"look": other.bodies[name].look}) if name in other.bodies else body
        for name, body in spec.bodies.items()
    }
    world = spec.world.model_copy(update={"look": other.world.look})
    return spec.model_copy(update={"look": other.look, "bodies": bodies, "world": world})


def _folder(run: Trajectory) -> Path | HeldPath:
    """The files that the run keeps; else the folder of the scene, if it is still where the command line said."""
    files = {name: data for name, _, data in run.provenance.files}
    if files and None not in files.values():  # else one was too large to be kept
        return HeldPath(files)
    name = Path(run.provenance.scene_source[0][0]).name if run.provenance.scene_source else ""
    for word in run.provenance.argv:
        place = Path(word)
        if name and place.name == name and place.is_file():
            return place.resolve().parent
    return Path(run.path).resolve().parent


def dumped(value: object) -> str:
    """A value as JSON that can stand within a page: no text of a scene can end the element that holds it."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
