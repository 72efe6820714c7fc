"""`simcli fk`: joint coordinates to poses of bodies."""

from simcli.cli.mechanics.mechanics import (
    Ask,
    AtTime,
    BodyFlag,
    DeviceName,
    Flags,
    ForceResults,
    FrameNumbers,
    Output,
    Q,
    Qd,
    StatesFile,
    SubjectPath,
    ThreadCount,
    WorldNumbers,
    conclude,
    perform,
)
from simcli.cli.options import JsonFlag, SelectPatterns, SetValues, split_words
from simcli.errors import Exit


def fk(
    scene: SubjectPath,
    states: StatesFile = None,
    q: Q = [],  # noqa: B006
    qd: Qd = [],  # noqa: B006
    frames: FrameNumbers = None,
    at: AtTime = [],  # noqa: B006
    world: WorldNumbers = None,
    select: SelectPatterns = [],  # noqa: B006
    body_flags: BodyFlag = Flags.all,
    sets: SetValues = [],  # noqa: B006
    output: Output = None,
    force: ForceResults = False,
    device: DeviceName = "auto",
    threads: ThreadCount = None,
    json: JsonFlag = False,
) -> int:
    """Forward kinematics: poses and twists of bodies, and named points, from joint coordinates and velocities.

    body_q is the pose of the body frame, body_qd the velocity of the centre of mass and the angular velocity, world.
    The tree decides; joints that close loops are not read. --select and --body-flags
    give some bodies only.
    Example: simcli fk outputs/swing.h5 --frames ::10 -o poses.csv
    """
    from simcli.analysis.mechanics.kinematic_tasks import Forward
    from simcli.model.batch.selection import BodyFlags

    ask = Ask(scene, states, frames, at, world, sets, output, force, json, device, threads, {"joint_q": q, "joint_qd": qd})
    task = Forward(tuple(split_words(select)), BodyFlags[body_flags.upper()])
    conclude(ask, task, perform(ask, task))
    return Exit.OK
