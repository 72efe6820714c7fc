"""Questions at states: `simcli matrices` of the equations of motion, `contacts` and clearances, what `rays` meet."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import existing_file, split_words
from simcli.errors import Exit, OutputError, UsageError

_NUMBERS = 3  # of a place or a direction


def _answer(ask: shared.Ask, prepare) -> int:
    """Compute with the shapes of the scene, and say what came out.

    Args:
        ask: the options.
        prepare: gives the task and notes, of the mechanism.
    """
    from simcli.analysis.mechanics.state_sources import prepare_states

    notes: list[str] = []

    def prepared(subject, choice):
        _refuse_soft(subject.spec, subject.path)
        task, more = prepare(subject)
        notes.extend(more)
        return task, prepare_states(subject, ask.states, choice, ask.given, task)

    task, report = shared.perform_prepared(ask, prepared, needs_shapes=True)
    report.notes += notes
    shared.conclude(ask, task, report)
    return Exit.OK


def _refuse_soft(spec, path: Path) -> None:
    """Refuse affine bodies, whose contact is that of their surfaces, as they are stretched.

    Raises:
        UsageError: the solver is affine.
    """
    if spec.solver.type == "affine":
        raise UsageError(
            f"{path}: contacts and rays are those of rigid bodies, and solver.type affine has others; "
            "--set solver.type=generalized takes its bodies as rigid"
        )


class SystemCoordinates(StrEnum):
    """Coordinates of the matrices."""

    generalized = "generalized"
    maximal = "maximal"
    natural = "natural"


@shared.on_states("q", "qd")
def matrices(
    ask: shared.Ask,
    coordinates: Annotated[
        SystemCoordinates | None,
        typer.Option("--coordinates", help="Unknowns of the system.", show_default="those of the solver of the scene"),
    ] = None,
    select: Annotated[
        list[str],
        typer.Option("--select", metavar="PATTERN", help="Constraints, by joint or equation. Repeatable. Default: all."),
    ] = [],  # noqa: B006
    npz: Annotated[
        Path | None,
        typer.Option("--npz", metavar="DIR", help="Write sparse matrices there, as scipy.sparse.load_npz reads them."),
    ] = None,
) -> int:
    """Matrices of the equations of motion at states: M, C, gravity, J of constraints, their forces, geometric stiffness.

    M a + h = F + J^T lambda,   J a = -J' v,   h = C v + g,   K = -d(J^T lambda)/dx

    In joint coordinates the constraints are loops, gears and fixed couplings; in maximal coordinates those of all joints; in
    natural coordinates those of rigid bodies too, and M is constant. lambda are the forces in the constraints in the
    motion of the state, with the forces of the scene; of least norm where constraints are redundant.
    Example: simcli matrices scenes/double_pendulum.yaml --coordinates natural --npz sparse
    """
    from simcli.analysis.mechanics.state_sources import prepare_states
    from simcli.analysis.rest.matrices import Matrices, refuse_affine

    def prepared(subject, choice):
        kind = subject.spec.solver.type if coordinates is None else str(coordinates)
        refuse_affine(kind)
        task = Matrices(kind, tuple(split_words("--select", select)), npz)
        return task, prepare_states(subject, ask.states, choice, ask.given, task)

    if npz is not None:
        _claim_folder(npz, ask.force)
    task, report = shared.perform_prepared(ask, prepared, needs_forces=False)
    task.close()
    if npz is not None:
        report.notes.append(f"wrote {npz}: sparse matrices of {console.plural(task.n_written, 'state')}")
    shared.conclude(ask, task, report)
    return Exit.OK


@shared.on_states("q")
def contacts_at(
    ask: shared.Ask,
    clearance: Annotated[
        float | None,
        typer.Option(
            "--clearance",
            metavar="D",
            min=0.0,
            help="All pairs of shapes that are nearer than D \\[m], by where they are nearest.",
            show_default="the contacts",
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="D", min=0.0, help="Gap \\[m] up to which surfaces touch.")
    ] = 1e-6,
) -> int:
    """Contacts of each state: the shapes, the point between them, the normal from a to b, the gap (negative: depth).

    They are those that a step finds, by the same code, with the margins of the shapes. --clearance D gives the distance of
    each pair that is nearer than D instead, without margins, and the nearest points of both surfaces. Pairs that the scene
    keeps apart (joints, `exclude`, layers, `collide: false`) are not looked at. Bodies of a run are where the run had them.
    Example: simcli contacts outputs/pile.h5 --frames -1 --clearance 0.01 -o near.csv
    """

    def prepare(subject):
        from simcli.analysis.mechanics.contact_tasks import ContactsAt

        model, off = subject.build(0), not subject.spec.contact.enabled
        why = "contacts of the scene are off: --set contact.enabled=true" if off else "no two shapes of the scene can touch"
        return ContactsAt(clearance, tolerance), [why] if model.contacts is None else []

    return _answer(ask, prepare)


@shared.on_states("q")
def rays(
    ask: shared.Ask,
    origin: Annotated[list[str], typer.Option("--from", metavar="X,Y,Z", help="Where a ray begins \\[m]. Repeatable.")] = [],  # noqa: B006
    direction: Annotated[
        list[str], typer.Option("--direction", metavar="X,Y,Z", help="Its direction, of any length. Repeatable.")
    ] = [],  # noqa: B006
    body: Annotated[
        str, typer.Option("--body", metavar="NAME", help="Body whose frame these are in; its shapes are not seen.")
    ] = "",
    table: Annotated[
        Path | None,
        typer.Option(
            "--rays",
            metavar="FILE",
            help="CSV with a ray in each row: x, y, z, dx, dy, dz, and perhaps name and body.",
            callback=existing_file,
            show_default=False,
        ),
    ] = None,
    reach: Annotated[float, typer.Option("--reach", metavar="D", min=0.0, help="Farthest surface \\[m].")] = float("inf"),
) -> int:
    """What rays meet in each state: the distance along the ray, the shape, the point and the outward normal.

    Rays see shapes that can touch something, as sensors of the type `range` do: exact shapes, of a mesh its convex hull; and
    the surface of terrain. A ray that begins inside of a shape meets its surface where it leaves. One origin goes with
    several directions, and one direction with several origins.
    Example: simcli rays scene.yaml --from 0,0,2 --direction 0,0,-1
    """

    def prepare(subject):
        from simcli.analysis.mechanics.contact_tasks import Rays

        model = subject.build(0)
        hidden = [] if model.shapes.collide.any() else ["the scene has no shape that rays could meet"]
        return Rays(_rays_of(model, origin, direction, body, table), reach), hidden

    return _answer(ask, prepare)


def _claim_folder(path: Path, force: bool) -> None:
    """Make a folder for files.

    Raises:
        OutputError: something stands there, or it cannot be made.
    """
    try:
        if path.exists() and not (path.is_dir() and (force or not any(path.iterdir()))):
            raise OutputError(f"{path}: exists; --force writes into a folder that is not empty")
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error}") from error


def _rays_of(model, origins: list[str], directions: list[str], body: str, table: Path | None):
    """The rays of the options.

    Raises:
        UsageError: they contradict each other, or say nothing.
    """
    import numpy as np

    from simcli.analysis.mechanics.contact_tasks import ray_set, read_rays

    if table is not None:
        if origins or directions or body:
            raise UsageError("--rays and --from, --direction, --body contradict each other: give one of them")
        return ray_set(model, *read_rays(table))
    if not origins or not directions:
        raise UsageError("give rays: --from X,Y,Z with --direction X,Y,Z, or a table with --rays")
    counts = len(origins), len(directions)
    n = max(counts)
    if min(counts) not in (1, n):
        raise UsageError(f"--from stands {counts[0]} times and --direction {counts[1]} times: as often, or one of them once")
    parts = [
        np.broadcast_to([_three(option, text) for text in texts], (n, _NUMBERS))
        for option, texts in (("--from", origins), ("--direction", directions))
    ]
    return ray_set(model, [str(k) for k in range(n)], np.concatenate(parts, axis=1), [body] * n)


def _three(option: str, text: str) -> list[float]:
    """Three numbers.

    Raises:
        UsageError: it is something else.
    """
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != _NUMBERS:
        raise UsageError(f"{option} {text}: write three numbers, as 0,0,1")
    return numbers
