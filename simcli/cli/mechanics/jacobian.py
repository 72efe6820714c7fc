"""`simcli jacobian`: body Jacobians."""

from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import JsonFlag, SelectPatterns, SetValues, split_words


def jacobian(
    scene: shared.SubjectPath,
    states: shared.StatesFile = None,
    q: shared.Q = [],  # noqa: B006
    frames: shared.FrameNumbers = None,
    at: shared.AtTime = [],  # noqa: B006
    world: shared.WorldNumbers = None,
    select: SelectPatterns = [],  # noqa: B006
    sets: SetValues = [],  # noqa: B006
    output: shared.Output = None,
    force: shared.ForceResults = False,
    device: shared.DeviceName = "auto",
    threads: shared.ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Body Jacobians: six rows per body, so that J qd = body_qd.

    Rows are the velocity of the centre of mass and the angular velocity, world; columns the joint velocities, zero for
    joints that close loops. --select gives some bodies only.
    Example: simcli jacobian scenes/double_pendulum.yaml --q 0.1,0.2 --select lower --json
    """
    from simcli.analysis.mechanics.dynamic_tasks import Jacobians

    ask = shared.Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, {"joint_q": q})
    task = Jacobians(tuple(split_words("--select", select)))
    return shared.give_answer(ask, task)
