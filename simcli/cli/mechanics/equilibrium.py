"""`simcli equilibrium`: the static equilibrium of a scene."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from simcli.cli import console
from simcli.cli.console import in_unit, set_line
from simcli.cli.mechanics.mechanics import DeviceName, ThreadCount
from simcli.cli.mechanics.statics import (
    Stable,
    World,
    clean,
    contacts_data,
    equilibrium_data,
    number_text,
    say_notes,
    studied,
    study_verdict,
)
from simcli.cli.options import JsonFlag, Replace, ScenePath, SetValues, output_option
from simcli.errors import Exit, UsageError
from simcli.spec.base.fault_list import suffix_of

if TYPE_CHECKING:
    from simcli.analysis.rest.modes import Study

_SUFFIXES = (".yaml", ".yml", ".json")
Unknown = Annotated[
    list[str],
    typer.Option(
        "--unknown",
        metavar="PATTERN",
        help="Keep the initial state, and find what balances it: 'forces.cable*.rest_length', or stiffness, tension, "
        "force_density. Repeatable.",
    ),
]
_Output = Annotated[
    Path | None,
    output_option("File to write: .yaml, the scene at rest (with --initial only that block), or .json.", show_default=False),
]
Least = Annotated[
    float, typer.Option("--least-tension", metavar="N", min=0.0, help="With --unknown: least tension of slack springs.")
]


Prefer = Annotated[
    Literal["nearest", "squares", "sum", "largest"],
    typer.Option(
        "--prefer",
        help="With --unknown, of many answers: tensions nearest to those of the scene, or of the least sum of squares, the "
        "least sum, the least largest tension.",
    ),
]


def equilibrium(
    scene: ScenePath,
    stable: Stable = False,
    world: World = 0,
    initial: Annotated[bool, typer.Option("--initial", help="Print an `initial:` block to paste into the scene.")] = False,
    unknown: Unknown = [],  # noqa: B006
    least: Least = 0.0,
    prefer: Prefer = "nearest",
    sets: SetValues = [],  # noqa: B006
    output: _Output = None,
    force: Replace = False,
    device: DeviceName = "auto",
    threads: ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Search the static equilibrium near the initial state: coordinates, reactions, springs, stability.

    Springs, drives, soft limits, gravity, wrenches and contacts with friction are in balance there, loops are closed, and
    everything is at rest.
    With --unknown the initial state stays, and the numbers of springs that balance it are found instead, as --set to paste.
    Not found: exit code 1, with what is out of balance where the search ended.
    Example: simcli equilibrium scenes/slider_crank.yaml --stable -o at_rest.yaml
    """
    if initial and json:
        raise UsageError("--initial and --json contradict each other: give one of them")
    if unknown and (initial or stable):
        raise UsageError("--unknown keeps the initial state, and --initial and --stable are about a different one")
    if least and not unknown:
        raise UsageError("--least-tension is about springs with an --unknown: name them")
    if prefer != "nearest" and not unknown:
        raise UsageError("--prefer chooses tensions of springs with an --unknown: name them")
    if output is not None:
        _claim(scene, sets, output, force, initial)
    with studied(scene, sets, world, not unknown, stable, device, threads, unknown, least, prefer=prefer) as study:
        say_notes(study)
        document = {"world": world, **unknowns_data(study), "sets": set_words(study), **equilibrium_data(study)}
        if output is not None:
            _save(study, document, scene, sets, output, initial)
        if json:
            console.emit("equilibrium", {**document, "path": output})
        elif initial:
            if output is None:
                console.data(block(study))
            if study.rest_at_start:
                console.note(
                    "rest lengths that are not written follow from the start, which the block changes; write them: "
                    + set_line(_rest_lengths(study))
                )
        else:
            console.data("\n".join(_lines(study)))
            console.say(study_verdict(study))
    return Exit.OK


def _claim(scene: Path, sets: list[str], output: Path, force: bool, is_block: bool) -> None:
    """Refuse an output that cannot be meant before anything is computed.

    Raises:
        UsageError, OutputError: it is that.
    """
    from simcli.records.drafts import claim_path
    from simcli.search.batches import claim_scene
    from simcli.spec import n_worlds

    if suffix_of(output, _SUFFIXES) == ".json" or is_block:
        if is_block and output.suffix.lower() == ".json":
            raise UsageError(f"-o {output}: --initial writes a block of YAML: end the name in .yaml, or leave --initial out")
        claim_path(output, force, [scene])
    elif n_worlds(claim_scene(scene, sets, output, force)) > 1:
        raise UsageError(
            f"{scene} has several worlds (`batch`), and -o writes a scene of one: leave it out with "
            "--set batch={}, and fix what it varied with --set; or name a .json file"
        )


def _save(study: "Study", document: dict[str, Any], scene: Path, sets: list[str], output: Path, is_block: bool) -> None:
    """Write what was found: as JSON, as a block, or as the scene with it."""
    from simcli.records.drafts import written
    from simcli.search.batches import write_scene

    if output.suffix.lower() != ".json" and not is_block:
        write_scene(scene, (*sets, *set_words(study)), output, True)
    else:
        text = block(study) if is_block else console.json_text({"schema": "simcli.equilibrium/1", **document})
        with written(output) as stream:
            stream.write(f"{text}\n")
    console.say(f"wrote {output}")


def _lines(study: "Study") -> list[str]:
    """Coordinates and reactions as tables."""
    from simcli.records.contents.model_columns import coordinate_units

    model = study.model
    rows = zip(
        model.dofs.q_label, map(number_text, clean(study.joint_q())), coordinate_units(model.joints)["q_unit"], strict=True
    )
    wrench = clean(study.equilibrium.posture.found.wrench[0, : model.n_joints])
    vectors = ["  ".join(f"{number_text(x):>12}" for x in line) for line in wrench]
    header = ("joint", "reaction on the child at its anchor, world: force x y z [N], torque x y z [N m]")
    return [
        console.table([*rows], ("coordinate", "joint_q", "unit")),
        "",
        console.table([*zip(model.joints.name, vectors, strict=True)], header),
        *of_contacts(study),
        *of_springs(study),
    ]


def of_contacts(study: "Study") -> list[str]:
    """Contacts that press, as a table."""
    rows = [
        (
            f"{one['a']}, {one['b']}",
            number_text(one["normal_force"]),
            *("  ".join(f"{number_text(x):>12}" for x in clean(one[key])) for key in ("force", "point")),
        )
        for one in contacts_data(study)
    ]
    header = ("contact of A and B", "normal force [N]", "force on B, world: x y z [N]", "point, world: x y z [m]")
    return ["", console.table(rows, header)] if rows else []


def of_springs(study: "Study") -> list[str]:
    """Springs as a table, how they hold the mechanism, and the numbers that were asked for."""
    found, names = study.prestress, study.model.springs.name
    if not names:
        return []
    columns = (map(number_text, clean(values)) for values in (found.length, found.tension, found.density))
    states = f"{console.plural(len(found.self_stress), 'state')} of self-stress"
    ways = f"{console.plural(found.mechanisms, 'infinitesimal mechanism')}, {found.rigid_motions} of them as one rigid body"
    header = ("spring", "length [m]", "tension [N]", "tension / length [N/m]")
    rank = f"rank {found.rank} of {console.plural(found.equations, 'equation')}"
    out = ["", console.table([*zip(names, *columns, strict=True)], header), "", f"{states}; {ways}; {rank}"]
    if study.solved is not None:
        values = study.solved.values
        rows = [(path, number_text(value), study.solved.units[path]) for path, value in values.items()]
        out += ["", console.table(rows, ("found", "value", "unit")), "", set_line(set_words(study))]
    return out


def unknowns_data(study: "Study") -> dict[str, Any]:
    """The numbers that were asked for, as JSON."""
    return {} if study.solved is None else {"unknowns": study.solved.values, "unknown_units": study.solved.units}


def set_words(study: "Study") -> list[str]:
    """`KEY=VALUE` of what was found, with units and to the last bit: numbers of springs, or where the mechanism rests."""
    from simcli.records.contents.model_columns import coordinate_units

    if study.solved is not None:
        return [f"{path}={value!r}{in_unit(unit)}" for path, (value, unit) in study.solved.settings.items()]
    units = dict(zip(study.model.dofs.q_label, coordinate_units(study.model.joints)["q_unit"], strict=True))
    return [
        *_rest_lengths(study),
        *(
            f"initial.joint_q.{name}={values[0]!r}{in_unit(units[name])}"
            if len(values) == 1
            else f"initial.joint_q.{name}={values}"
            for name, values in _rests(study).items()
        ),
    ]


def _rest_lengths(study: "Study") -> list[str]:
    """`KEY=VALUE` of the rest lengths that a scene leaves to its start, which another start would change."""
    tables = study.model.springs, study.model.ropes
    lengths = {name: one for table in tables for name, one in zip(table.name, table.rest_length[0].tolist(), strict=True)}
    return [f"forces.{name}.rest_length={lengths[name]!r} m" for name in study.rest_at_start]


def block(study: "Study") -> str:
    """What puts a run of the scene where the search ended."""
    lines = [f"    {name}: {values[0] if len(values) == 1 else values}" for name, values in _rests(study).items()]
    return "\n".join(["initial:", "  joint_q:", *lines])


def _rests(study: "Study") -> dict[str, list[float]]:
    """Coordinates where the search ended, of joints of the tree that nothing else places."""
    model, q = study.model, study.joint_q()
    placed = {int(d) for d in model.mimics.follower} | {d for d in range(model.n_qd) if model.motions.kind[d]}
    found = {}
    for j, name in enumerate(model.joints.name):
        values = [float(x) for x in q[model.joints.q_start[j] : model.joints.q_start[j + 1]]]
        if values and model.joints.is_tree[j] and int(model.joints.qd_start[j]) not in placed:
            found[name] = values
    return found
