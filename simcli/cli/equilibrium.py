"""`simcli equilibrium`: the static equilibrium of a scene."""

from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.mechanics import DeviceName, Threads
from simcli.cli.options import JsonFlag, ScenePath, SetValues
from simcli.cli.statics import Stable, World, clean, equilibrium_data, number, say_notes, studied, verdict
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.analysis.modes import Study


def equilibrium(
    scene: ScenePath,
    stable: Stable = False,
    world: World = 0,
    initial: Annotated[bool, typer.Option("--initial", help="Print an `initial:` block to paste into the scene.")] = False,
    sets: SetValues = [],  # noqa: B006
    device: DeviceName = "auto",
    threads: Threads = None,
    json: JsonFlag = False,
) -> int:
    """Search the static equilibrium near the initial state: coordinates, reactions, stability.

    Springs, drives, soft limits, gravity and wrenches are in balance there, loops are closed, and everything is at rest.
    Not found: exit code 1, with what is out of balance where the search ended.
    Example: simcli equilibrium scenes/slider_crank.yaml --stable
    """
    if initial and json:
        raise UsageError("--initial and --json contradict each other: give one of them")
    with studied(scene, sets, world, True, stable, device, threads) as study:
        say_notes(study)
        if json:
            console.emit("equilibrium", {"world": world, **equilibrium_data(study)})
        elif initial:
            console.data(block(study))
        else:
            console.data("\n".join(lines(study)))
            console.say(verdict(study))
    return Exit.OK


def lines(study: "Study") -> list[str]:
    """Coordinates and reactions as tables."""
    from simcli.records.layout import coordinate_units

    model = study.model
    rows = zip(model.dofs.q_label, map(number, clean(study.joint_q())), coordinate_units(model)["q_unit"], strict=True)
    wrench = clean(study.equilibrium.posture.found.wrench[0, : model.n_joints])
    vectors = ["  ".join(f"{number(x):>12}" for x in line) for line in wrench]
    header = ("joint", "reaction on the child at its anchor, world: force x y z [N], torque x y z [N m]")
    return [console.table([*rows], ("coordinate", "joint_q", "unit")), "",
            console.table([*zip(model.joints.name, vectors, strict=True)], header)]  # fmt: skip


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
