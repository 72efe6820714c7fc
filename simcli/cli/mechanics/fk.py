"""`simcli fk`: joint coordinates to poses of bodies."""

from simcli.cli.mechanics import mechanics as shared
from simcli.cli.options import JsonFlag, SelectPatterns, SetValues, split_words


def fk(
    scene: shared.SubjectPath,
    states: shared.StatesFile = None,
    q: shared.Q = [],  # noqa: B006
    qd: shared.Qd = [],  # noqa: B006
    frames: shared.FrameNumbers = None,
    at: shared.AtTime = [],  # noqa: B006
    world: shared.WorldNumbers = None,
    select: SelectPatterns = [],  # noqa: B006
    body_flags: shared.BodyFlag = shared.Flags.all,
    sets: SetValues = [],  # noqa: B006
    output: shared.Output = None,
    force: shared.ForceResults = False,
    device: shared.DeviceName = "auto",
    threads: shared.ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Forward kinematics: poses and twists of bodies, and named points, from joint coordinates and velocities.

    body_q is the pose of the body frame, body_qd the velocity of the centre of mass and the angular velocity, world.
    The tree decides; joints that close loops are not read, and a warning says where the coordinates leave one open.
    --select and --body-flags give some bodies only.
    Example: simcli fk outputs/swing.h5 --frames ::10 -o poses.csv
    """
    from simcli.analysis.mechanics.kinematic_tasks import Forward
    from simcli.model.joints.selection import BodyFlags

    given = {"joint_q": q, "joint_qd": qd}
    ask = shared.Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, given)
    task = Forward(tuple(split_words("--select", select)), BodyFlags[body_flags.upper()])
    return shared.give_answer(ask, task)
