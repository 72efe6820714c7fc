"""`simcli mass-matrix`: the joint-space mass matrix."""

from typing import Annotated

import typer

from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import JsonFlag, SetValues


def mass_matrix(
    scene: shared.SubjectPath,
    states: shared.StatesFile = None,
    q: shared.Q = [],  # noqa: B006
    frames: shared.FrameNumbers = None,
    at: shared.AtTime = [],  # noqa: B006
    world: shared.WorldNumbers = None,
    armature: Annotated[bool, typer.Option("--armature/--no-armature", help="Include the joints' armature.")] = True,
    sets: SetValues = [],  # noqa: B006
    output: shared.Output = None,
    force: shared.ForceResults = False,
    device: shared.DeviceName = "auto",
    threads: shared.ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Joint-space mass matrix M(q), one row and column per joint velocity.

    With armature, as the solver has it and as `simcli id` counts it; Newton's eval_mass_matrix is --no-armature. Rows and
    columns of joints that close loops are zero: the tree's velocities alone move the bodies.
    Example: simcli mass-matrix scenes/double_pendulum.yaml --q 0.1,0.2
    """
    from simcli.analysis.mechanics.dynamic_tasks import Matrix

    ask = shared.Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, {"joint_q": q})
    task = Matrix(armature)
    return shared.give_answer(ask, task)
