"""`simcli modes`: natural frequencies, damping ratios and mode shapes."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simcli.cli import console
from simcli.cli.mechanics.mechanics import DeviceName, ThreadCount
from simcli.cli.mechanics.statics import (
    Stable,
    StudyAt,
    StudyPlace,
    World,
    by_joint,
    equilibrium_data,
    model_of_world,
    number_text,
    say_notes,
    studied,
    study_verdict,
)
from simcli.cli.options import JsonFlag, ScenePath, SetValues
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.analysis.rest.modes import Study
    from simcli.analysis.rest.steady_modes import SteadyStudy
    from simcli.model.tables.model import Model

SHOWN, _LEAST = 3, 0.05  # joint coordinates named in a line of the table, and what they are at least of the largest
IN_PHASE = 1.0  # [deg] from 0 or 180 that is a sign


def modes(
    scene: ScenePath,
    at: StudyAt = StudyPlace.SEARCH,
    stable: Stable = False,
    world: World = 0,
    slip: Annotated[bool, typer.Option("--slip", help="Contacts hold by their normals only, without friction.")] = False,
    sets: SetValues = [],  # noqa: B006
    device: DeviceName = "auto",
    threads: ThreadCount = None,
    json: JsonFlag = False,
    about: Annotated[
        str,
        typer.Option(
            "--about", metavar="STATE", help="Modes about a steady motion: `initial`, or RUN.h5@TIME, whose state it is."
        ),
    ] = "",
    coordinates: Annotated[
        list[str],
        typer.Option(
            "--coordinate",
            metavar="NAME",
            help="With --about and --json: M, C and K of these coordinates, as joint or joint:2. Repeatable.",
        ),
    ] = [],  # noqa: B006
) -> int:
    """Natural frequencies, damping ratios and mode shapes about an equilibrium.

    The equilibrium near the initial state is searched first (simcli equilibrium). Closed loops, springs, drives, soft
    limits, damping and gravity count; the solver of the scene makes no difference. Contacts that press are held, and stick
    where they have friction, unless --slip. Modes that grow have their rate in the
    column of the real part; those that stay where they are put have 0. --json has the shapes of all joints and bodies.
    --about takes a steady motion instead: a straight run, a steady turn, a mechanism at its speed.
    Example: simcli modes scenes/triple_pendulum.yaml
    """
    if about:
        if stable or slip or at != StudyPlace.SEARCH:
            raise UsageError("--about is a motion: --at, --stable and --slip are for modes about a state at rest")
        return modes_about(scene, sets, world, about, coordinates, device, threads, json)
    if coordinates:
        raise UsageError("--coordinate goes with --about")
    with studied(scene, sets, world, at == StudyPlace.SEARCH, stable, device, threads, slips=slip) as study:
        if json:
            document = {"world": world, "equilibrium": equilibrium_data(study), **modes_data(study)}
            say_notes(study)
            console.emit("modes", document)
        else:
            table = _lines(study)
            say_notes(study)
            console.data(table)
            console.say(study_verdict(study))
    return Exit.OK


def modes_about(
    scene: Path,
    sets: list[str],
    world: int,
    about: str,
    coordinates: list[str],
    device: str,
    threads: int | None,
    json: bool,
) -> int:
    """Modes about a steady motion; arguments as of the command."""
    from simcli.analysis.rest.modes import refuse_modes
    from simcli.analysis.rest.steady_modes import steady_study
    from simcli.kernels.device.runtime import start_device

    document, _, model = model_of_world(scene, sets, world)
    refuse_modes(model, document, moves=True)
    model, time = (model, 0.0) if about == "initial" else state_of_run(model, about, world)
    with console.stdout_kept_clean():
        study = steady_study(model, start_device(device, "float64", threads), time)
        table = _lines(study)
    say_notes(study)
    if json:
        data = {"world": world, "steady": steady_data(study), **modes_data(study)}
        if coordinates:
            data["matrices"] = matrices_data(study, coordinates)
        console.emit("modes", data)
    else:
        console.data(table)
        console.say(steady_verdict(study))
    study.close()
    return Exit.OK


def state_of_run(model: "Model", about: str, world: int) -> "tuple[Model, float]":
    """The model with the coordinates and rates of a frame of a run, and the time of that.

    Args:
        model: of one world.
        about: RUN.h5@TIME, or RUN.h5 for its last frame.
        world: of the batch.
    """
    from dataclasses import replace

    import numpy as np

    from simcli.analysis.states.portions import Choice
    from simcli.analysis.states.subject import check_mechanism_names
    from simcli.records.hdf5_bytes import is_hdf5
    from simcli.records.reading.reader import Trajectory
    from simcli.records.reading.result_reader import open_any

    name, _, text = about.rpartition("@") if "@" in about else (about, "", "")
    path = Path(name)
    try:
        times = (float(text),) if text else ()
    except ValueError:
        raise UsageError(f"--about {about}: `{text}` is no time in s; write initial, or RUN.h5@TIME") from None
    if not path.is_file() or not is_hdf5(path):
        raise UsageError(f"--about {about}: `{name}` is no run; write initial, or RUN.h5@TIME")
    with open_any(path) as run:
        if not isinstance(run, Trajectory) or not run.n_frames:
            raise UsageError(f"--about {about}: `{name}` holds no frames of a run")
        check_mechanism_names(model, run)
        frame = int(Choice(at=times).of_times(run.time, name)[-1])
        at = world if run.n_worlds > 1 else 0
        if at >= run.n_worlds:
            raise UsageError(f"--world {world}: {name} has worlds 0 to {run.n_worlds - 1}")
        q, qd = (np.array(run.column(f"frames/{one}")[frame, at], float)[None] for one in ("joint_q", "joint_qd"))
        return replace(model, joint_q=q, joint_qd=qd, start=None), float(run.time[frame])


def steady_data(study: "SteadyStudy") -> dict[str, Any]:
    """A steady motion as JSON."""
    from simcli.records.contents.model_columns import coordinate_units

    model, motion = study.model, study.motion
    units = coordinate_units(model.joints)
    return {
        "time": motion.time,
        "turn": motion.carrier.turn,
        "way": study.way,
        "joint_q": by_joint(model, study.joint_q(), model.joints.q_start),
        "joint_qd": by_joint(model, study.projected(motion.v[None])[1][0], model.joints.qd_start),
        "units": {
            "time": "s",
            "turn": "rad/s",
            "way": "1",
            "joint_q": by_joint(model, units["q_unit"], model.joints.q_start),
            "joint_qd": by_joint(model, units["qd_unit"], model.joints.qd_start),
        },
    }


def matrices_data(study: "SteadyStudy", coordinates: list[str]) -> dict[str, Any]:
    """M, C and K of some coordinates as JSON."""
    dof, label = study.statics.balance.dof, study.statics.model.dofs.label
    names = [label[d] for d in dof]
    for name in coordinates:
        if name not in names:
            raise UsageError(f"--coordinate {name}: no such coordinate of the tree; there are {', '.join(names)}")
    try:
        found = study.reduced([names.index(name) for name in coordinates])
    except ValueError as error:
        raise UsageError(f"--coordinate {', '.join(coordinates)}: {error}") from None
    return {"coordinates": coordinates, **dict(zip(("M", "C", "K"), found, strict=True))}


def steady_verdict(study: "SteadyStudy") -> str:
    """A steady motion in one line."""
    turn = float((study.motion.carrier.turn**2).sum() ** 0.5)
    growing = sum(mode.eigenvalue.real > 0.0 for mode in study.modes)
    text = f"steady motion{f', turning at {number_text(turn)} rad/s' if turn else ''}: "
    return text + (f"unstable, {console.plural(growing, 'mode')} of growth" if growing else "no mode grows")


def _lines(study: "Study") -> str:
    """A line for each mode."""
    rate, _ = study.shapes
    rows = []
    for k, mode in enumerate(study.modes):
        ratio = "-" if mode.damping_ratio is None else number_text(mode.damping_ratio)
        rows.append(
            (
                str(k + 1),
                mode.kind.value,
                number_text(mode.frequency),
                number_text(mode.omega),
                ratio,
                number_text(mode.eigenvalue.real),
                leaders(study, rate[k]),
            )
        )
    if not rows:
        return "no mode: joints and contacts hold every motion"
    header = ("mode", "kind", "frequency [Hz]", "omega [rad/s]", "damping ratio", "real part [1/s]", "joint coordinates")
    return console.table(rows, header)


def leaders(study: "Study", rate) -> str:
    """The joint coordinates that move most in a mode, with their phase where it is no sign."""
    size = abs(rate) / study.dof_unit
    words = []
    for d in sorted(range(len(size)), key=lambda d: -size[d])[:SHOWN]:
        if size[d] > _LEAST * size.max():
            words.append(f"{study.model.dofs.label[d]} {phased(complex(rate[d]))}")
    return ", ".join(words)


def phased(x: complex) -> str:
    """A number with its sign, or with its phase if it has one."""
    degrees = math.degrees(math.atan2(x.imag, x.real))
    if min(abs(degrees), 180.0 - abs(degrees)) <= IN_PHASE:
        return f"{x.real:.3g}"
    return f"{abs(x):.3g} at {degrees:.0f} deg"


def modes_data(study: "Study") -> dict[str, Any]:
    """All modes as JSON."""
    from simcli.records.contents.model_columns import coordinate_units

    model = study.model
    rate, twist = study.shapes
    out = []
    for k, mode in enumerate(study.modes):
        partner = None if mode.partner is None else pair(mode.partner)
        out.append(
            {
                "kind": mode.kind.value,
                "frequency": mode.frequency,
                "omega": mode.omega,
                "damping_ratio": mode.damping_ratio,
                "eigenvalue": pair(mode.eigenvalue),
                "partner": partner,
                "joint_qd": {name: by_joint(model, part, model.joints.qd_start) for name, part in parts(rate[k])},
                "body_qd": {name: dict(zip(model.bodies.name, part, strict=True)) for name, part in parts(twist[k])},
            }
        )
    units = {
        "frequency": "Hz",
        "omega": "rad/s",
        "damping_ratio": "1",
        "eigenvalue": "1/s",
        "joint_qd": by_joint(model, coordinate_units(model.joints)["qd_unit"], model.joints.qd_start),
        "body_qd": "m/s, rad/s",
    }
    return {"modes": out, "stiffness_error": study.stiffness.roughness, "units": units}


def parts(x) -> list[tuple[str, Any]]:
    """Real and imaginary parts of a shape by name."""
    return [("real", x.real), ("imag", x.imag)]


def pair(x: complex) -> list[float]:
    """Real and imaginary part."""
    return [x.real, x.imag]
