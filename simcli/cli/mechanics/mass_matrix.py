"""`simcli mass-matrix`: the joint-space mass matrix."""

from typing import Annotated

import typer

from simcli.cli.mechanics.mechanics import (
    Ask,
    AtTime,
    DeviceName,
    ForceResults,
    FrameNumbers,
    Output,
    Q,
    StatesFile,
    SubjectPath,
    ThreadCount,
    WorldNumbers,
    conclude,
    perform,
)
from simcli.cli.options import JsonFlag, SetValues
from simcli.errors import Exit


def mass_matrix(
    scene: SubjectPath,
    states: StatesFile = None,
    q: Q = [],  # noqa: B006
    frames: FrameNumbers = None,
    at: AtTime = [],  # noqa: B006
    world: WorldNumbers = None,
    armature: Annotated[bool, typer.Option("--armature/--no-armature", help="Count the joints' armature.")] = True,
    sets: SetValues = [],  # noqa: B006
    output: Output = None,
    force: ForceResults = False,
    device: DeviceName = "auto",
    threads: ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Joint-space mass matrix M(q), one row and column per joint velocity.

    With armature, as the solver has it and as `simcli id` counts it; Newton's eval_mass_matrix is --no-armature. Rows and
    columns of joints that close loops are zero: the tree's velocities alone move the bodies.
    Example: simcli mass-matrix scenes/double_pendulum.yaml --q 0.1,0.2
    """
    from simcli.analysis.mechanics.dynamic_tasks import Matrix

    ask = Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, {"joint_q": q})
    task = Matrix(armature)
    conclude(ask, task, perform(ask, task))
    return Exit.OK
