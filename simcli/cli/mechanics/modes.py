"""`simcli modes`: natural frequencies, damping ratios and mode shapes."""

import math
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
    number_text,
    say_notes,
    studied,
    study_verdict,
)
from simcli.cli.options import JsonFlag, ScenePath, SetValues
from simcli.errors import Exit

if TYPE_CHECKING:
    from simcli.analysis.rest.modes import Study

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
) -> int:
    """Natural frequencies, damping ratios and mode shapes about an equilibrium.

    The equilibrium near the initial state is searched first (simcli equilibrium). Closed loops, springs, drives, soft
    limits, damping and gravity count; the solver of the scene makes no difference. Contacts that press are held, and stick
    where they have friction, unless --slip. Modes that grow have their rate in the
    column of the real part; those that stay where they are put have 0. --json has the shapes of all joints and bodies.
    Example: simcli modes scenes/triple_pendulum.yaml
    """
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
