"""What the commands equilibrium and modes share: their options, the study of a scene, and an equilibrium in words."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simcli.cli import console
from simcli.errors import UsageError

if TYPE_CHECKING:
    from simcli.analysis.rest.modes import Study
    from simcli.model.tables.model import Model
    from simcli.spec import Document, SceneSpec


_ROUNDING = 1e-12


class StudyPlace(StrEnum):
    """Where small motions are looked at."""

    SEARCH = "search"
    INITIAL = "initial"


StudyAt = Annotated[
    StudyPlace, typer.Option("--at", help="search: the equilibrium near the initial state; initial: that state itself.")
]
Stable = Annotated[bool, typer.Option("--stable", help="Minimise the energy to find a stable equilibrium.")]
World = Annotated[int, typer.Option("--world", metavar="I", min=0, help="World of the batch. Default: the first.")]


def model_of_world(scene: Path, sets: list[str], world: int) -> "tuple[Document, SceneSpec, Model]":
    """A scene, and the tables of one world of its batch.

    Raises:
        SceneError: the scene is invalid.
        UsageError: there is no such world.
    """
    from simcli.pipeline import build_model, read_scene
    from simcli.spec import n_worlds

    document, spec = read_scene(scene, sets)
    if world >= n_worlds(spec):
        raise UsageError(f"--world {world}: the batch has worlds 0 to {n_worlds(spec) - 1}")
    return document, spec, build_model(document, spec, (world,))


@contextmanager
def studied(
    scene: Path,
    sets: list[str],
    world: int,
    searches: bool,
    stable: bool,
    device: str,
    threads: int | None,
    unknowns: Sequence[str] = (),
    least: float = 0.0,
    slips: bool = False,
    prefer: str = "nearest",
) -> "Iterator[Study]":
    """The study of one world of a scene.

    Args:
        scene: the file.
        sets: overrides.
        world: of the batch.
        searches: see `analysis.rest.modes.study`, also for `stable`, `unknowns` and `least`.
        stable: likewise.
        device: name.
        threads: of the CPU.
        unknowns: likewise.
        least: [N], likewise.
        slips: likewise.
        prefer: name of a `prestress.Preference`.

    Raises:
        SceneError: the scene is invalid, or has what no linear equations can have.
        UsageError: there is no such world; --stable without a search.
        NoEquilibriumError: there is none.
    """
    from simcli.analysis.rest.modes import refuse_modes, study
    from simcli.analysis.rest.prestress import Preference
    from simcli.kernels.device.runtime import start_device
    from simcli.spec import n_worlds
    from simcli.spec.schema.forces import SpringForce

    if stable and not searches:
        raise UsageError("--stable searches, and --at initial does not: give one of them")
    document, spec, model = model_of_world(scene, sets, world)
    refuse_modes(model, document)
    with console.stdout_kept_clean():
        place = start_device(device, "float64", threads)
        found = study(model, place, searches, stable, unknowns, least, slips, Preference(prefer))
        found.rest_at_start = tuple(
            name for name, force in spec.forces.items() if isinstance(force, SpringForce) and force.rest_length is None
        )
        if n_worlds(spec) > 1:
            found.notes.append(f"world {world} of {n_worlds(spec)}; --world I takes another")
        if spec.events:
            found.notes.append("events of the scene come after its start, and are ignored")
        yield found
        found.close()


def number_text(x: float) -> str:
    """A number for people."""
    return "-" if x != x else f"{x + 0.0:.6g}"  # no minus before zero


def clean(values):
    """Numbers without those that are rounding beside the largest, or beside 1."""
    size = abs(values)
    return values * (size > _ROUNDING * max(1.0, size[size == size].max(initial=0.0)))


def say_notes(study: "Study") -> None:
    """Notes for people."""
    for note in study.notes:
        console.note(note)


def study_verdict(study: "Study") -> str:
    """An equilibrium in one line."""
    found = study.equilibrium
    gap = f"{found.force:.3g} N, {found.torque:.3g} N m"
    hint = "; --stable looks for a stable one" if study.slopes[0] > 0 else ""
    return f"{stability(study)} after {console.plural(found.iterations, 'iteration')}; out of balance: {gap}{hint}"


def stability(study: "Study") -> str:
    """Whether an equilibrium is stable, in words."""
    falls, stays = study.slopes
    if falls < 0:
        if study.stiffness.kink < 0:
            return "equilibrium of wheels or blades that bear loads, of which no energy tells whether it is stable,"
        return "equilibrium where forces have a kink"
    if falls:
        return f"unstable equilibrium, energy falls in {console.plural(falls, 'direction')},"
    return f"neutral equilibrium, {console.plural(stays, 'direction')} without stiffness," if stays else "stable equilibrium"


def equilibrium_data(study: "Study") -> dict[str, Any]:
    """An equilibrium as JSON."""
    from simcli.records.contents.model_columns import coordinate_units

    model, found, posture = study.model, study.equilibrium, study.equilibrium.posture
    rows = zip(study.statics.balance.row_label, posture.multiplier, study.statics.balance.holds, strict=True)
    falls, stays = study.slopes
    units = coordinate_units(model.joints)["q_unit"]
    wrenches = posture.found.wrench[0, : model.n_joints]
    return {
        "iterations": found.iterations,
        "residual": {"force": found.force, "torque": found.torque},
        "stable": None if falls < 0 else falls + stays == 0,
        "falling_directions": None if falls < 0 else falls,
        "neutral_directions": None if falls < 0 else stays,
        "joint_q": by_joint(model, study.joint_q(), model.joints.q_start),
        "body_q": dict(zip(model.bodies.name, posture.found.pose[0], strict=True)),
        "joint_wrench": dict(zip(model.joints.name, wrenches, strict=True)),
        "multiplier": {label: value for label, value, holds in rows if holds},
        "contacts": contacts_data(study),
        **springs_data(study),
        "units": {
            "residual": ["N", "N m"],
            "joint_q": by_joint(model, units, model.joints.q_start),
            "body_q": "m, 1",
            "joint_wrench": "N, N m",
            "multiplier": "N or N m",
            "springs": {"length": "m", "tension": "N", "force_density": "N/m"},
            "self_stress": "1",
            "contacts": {"point": "m", "normal": "1", "normal_force": "N", "force": "N", "torque": "N m"},
        },
    }


def contacts_data(study: "Study") -> list[dict[str, Any]]:
    """Contacts that press at an equilibrium."""
    press, names = study.equilibrium.posture.press, study.model.shapes.name
    if press is None:
        return []
    from simcli.analysis.rest.rest_contacts import contact_wrenches

    found, wrench = press.touches.found, contact_wrenches(press.touches, press.force)
    return [
        {
            "a": names[found.shape_a[k]],
            "b": names[found.shape_b[k]],
            "point": found.point[k],
            "normal": found.normal[k],
            "normal_force": float(press.force[k, 0]),
            "force": wrench[k, :3],
            "torque": wrench[k, 3:],
        }
        for k in range(len(press.touches))
    ]


def springs_data(study: "Study") -> dict[str, Any]:
    """Springs at an equilibrium, and how they hold it, as JSON."""
    found, names = study.prestress, study.model.springs.name
    numbers = zip(names, found.length, found.tension, found.density, strict=True)
    return {
        "springs": {
            name: {"length": length, "tension": tension, "force_density": density}
            for name, length, tension, density in numbers
        },
        "self_stress": [dict(zip(names, state, strict=True)) for state in found.self_stress],
        "mechanisms": found.mechanisms,
        "rigid_motions": found.rigid_motions,
        "redundant_rows": found.redundant_rows,
        "equations": found.equations,
        "rank": found.rank,
    }


def by_joint(model, values, start) -> dict[str, Any]:
    """Numbers along an axis of coordinates by joint, of joints that have some."""
    return {
        name: values[first:end]
        for name, first, end in zip(model.joints.name, start[:-1], start[1:], strict=True)
        if end > first
    }
