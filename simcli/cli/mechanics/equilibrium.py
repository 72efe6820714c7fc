"""`simcli equilibrium`: the static equilibrium of a scene."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from simcli.cli import console
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
from simcli.cli.options import JsonFlag, ScenePath, SetValues
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.analysis.rest.modes import Study


Unknown = Annotated[
    list[str],
    typer.Option(
        "--unknown", metavar="PATTERN",
        help="Keep the initial state, and find what balances it: 'forces.cable*.rest_length', or stiffness, tension, "
        "force_density. Repeatable.",
    ),
]
Least = Annotated[
    float, typer.Option("--least-tension", metavar="N", min=0.0, help="Of --unknown: tension of slack springs, at least.")
]


def equilibrium(
    scene: ScenePath,
    stable: Stable = False,
    world: World = 0,
    initial: Annotated[bool, typer.Option("--initial", help="Print an `initial:` block to paste into the scene.")] = False,
    unknown: Unknown = [],  # noqa: B006
    least: Least = 0.0,
    sets: SetValues = [],  # noqa: B006
    device: DeviceName = "auto",
    threads: ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Search the static equilibrium near the initial state: coordinates, reactions, springs, stability.

    Springs, drives, soft limits, gravity, wrenches and contacts with friction are in balance there, loops are closed, and
    everything is at rest.
    With --unknown the initial state stays, and the numbers of springs that balance it are found instead.
    Not found: exit code 1, with what is out of balance where the search ended.
    Example: simcli equilibrium scenes/slider_crank.yaml --stable
    """
    if initial and json:
        raise UsageError("--initial and --json contradict each other: give one of them")
    if unknown and (initial or stable):
        raise UsageError("--unknown keeps the initial state, and --initial and --stable are about another one")
    if least and not unknown:
        raise UsageError("--least-tension is about springs with an --unknown: name them")
    with studied(scene, sets, world, not unknown, stable, device, threads, unknown, least) as study:
        say_notes(study)
        if json:
            console.emit("equilibrium", {"world": world, **unknowns_data(study), **equilibrium_data(study)})
        elif initial:
            console.data(block(study))
        else:
            console.data("\n".join(_lines(study)))
            console.say(study_verdict(study))
    return Exit.OK


def _lines(study: "Study") -> list[str]:
    """Coordinates and reactions as tables."""
    from simcli.records.contents.layout import coordinate_units

    model = study.model
    rows = zip(model.dofs.q_label, map(number_text, clean(study.joint_q())), coordinate_units(model)["q_unit"], strict=True)
    wrench = clean(study.equilibrium.posture.found.wrench[0, : model.n_joints])
    vectors = ["  ".join(f"{number_text(x):>12}" for x in line) for line in wrench]
    header = ("joint", "reaction on the child at its anchor, world: force x y z [N], torque x y z [N m]")
    return [console.table([*rows], ("coordinate", "joint_q", "unit")), "",
            console.table([*zip(model.joints.name, vectors, strict=True)], header), *of_contacts(study),
            *of_springs(study)]  # fmt: skip


def of_contacts(study: "Study") -> list[str]:
    """Contacts that press, as a table."""
    rows = [(f"{one['a']}, {one['b']}", number_text(one["normal_force"]),
             *("  ".join(f"{number_text(x):>12}" for x in clean(one[key])) for key in ("force", "point")))
            for one in contacts_data(study)]  # fmt: skip
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
    out = ["", console.table([*zip(names, *columns, strict=True)], header), "", f"{states}; {ways}"]
    if study.solved is not None:
        values = study.solved.values
        rows = [(path, number_text(value), study.solved.units[path]) for path, value in values.items()]
        out += ["", console.table(rows, ("found", "value", "unit"))]
    return out


def unknowns_data(study: "Study") -> dict[str, Any]:
    """The numbers that were asked for, as JSON."""
    return {} if study.solved is None else {"unknowns": study.solved.values, "unknown_units": study.solved.units}


def block(study: "Study") -> str:
    """What puts a run of the scene where the search ended: joints of the tree that nothing else places."""
    model, q = study.model, study.joint_q()
    placed = {int(d) for d in model.mimics.follower} | {d for d in range(model.n_qd) if model.motions.kind[d]}
    out = ["initial:", "  joint_q:"]
    for j, name in enumerate(model.joints.name):
        values = [float(x) for x in q[model.joints.q_start[j] : model.joints.q_start[j + 1]]]
        if values and model.joints.is_tree[j] and int(model.joints.qd_start[j]) not in placed:
            out.append(f"    {name}: {values[0] if len(values) == 1 else values}")
    return "\n".join(out)
