"""`simcli jacobian`: body Jacobians."""

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
from simcli.cli.options import JsonFlag, SelectPatterns, SetValues, split_words
from simcli.errors import Exit


def jacobian(
    scene: SubjectPath,
    states: StatesFile = None,
    q: Q = [],  # noqa: B006
    frames: FrameNumbers = None,
    at: AtTime = [],  # noqa: B006
    world: WorldNumbers = None,
    select: SelectPatterns = [],  # noqa: B006
    sets: SetValues = [],  # noqa: B006
    output: Output = None,
    force: ForceResults = False,
    device: DeviceName = "auto",
    threads: ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Body Jacobians: six rows per body, so that J qd = body_qd.

    Rows are the velocity of the centre of mass and the angular velocity, world; columns the joint velocities, zero for
    joints that close loops. --select gives some bodies only.
    Example: simcli jacobian scenes/double_pendulum.yaml --q 0.1,0.2 --select lower --json
    """
    from simcli.analysis.mechanics.dynamic_tasks import Jacobians

    ask = Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, {"joint_q": q})
    task = Jacobians(tuple(split_words(select)))
    conclude(ask, task, perform(ask, task))
    return Exit.OK
