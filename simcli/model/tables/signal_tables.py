"""Signals and sensors as tables."""

from dataclasses import dataclass
from enum import IntEnum, unique

import numpy as np

from simcli.model.tables.table_base import FOUND_AGAIN, IN_SCENE, Array, Changes, Table, per


@unique
class SignalKind(IntEnum):
    """Forms of a signal (see `Signals`)."""

    CONSTANT = 0
    SINE = 1
    STEP = 2
    RAMP = 3
    CHIRP = 4
    TABLE = 5
    FEEDBACK = 6  # what `Feedback` has sampled


@unique
class Op(IntEnum):
    """What a line of the code of feedback does; its value is a number of its own. x and y are values of lines before."""

    CONSTANT = 0  # constants[index]
    QUANTITY = 1  # quantities[index]
    SIGNAL = 2  # signals[index] at the time of the sample
    TIME = 3  # [s], of the sample
    STATE = 4  # states[index]
    KEEP = 5  # x, which states[index] is from now on
    DELAY = 6  # x of y samples ago, `length` at most, kept in the states from `index` on; NaN before there was one
    ADD = 7
    SUBTRACT = 8
    MULTIPLY = 9
    DIVIDE = 10
    POWER = 11
    MINIMUM = 12
    MAXIMUM = 13
    ABSOLUTE = 14
    ROOT = 15
    SINE = 16
    COSINE = 17
    TANGENT = 18
    EXPONENTIAL = 19
    ARCTANGENT = 20  # angle of the point (y, x), as `atan2(x, y)`
    SIGN = 21
    OTHERWISE = 22  # x, or y where x is NaN


@unique
class Driven(IntEnum):
    """Columns of the model that signals drive."""

    DRIVE_TARGET = 0  # dofs.drive_target, by dof
    DRIVE_TARGET_VELOCITY = 1  # dofs.drive_target_velocity, by dof
    JOINT_F = 2  # joint_f, by dof
    WRENCH_FORCE = 3  # wrenches.force, by 3 * wrench + component
    WRENCH_TORQUE = 4  # wrenches.torque, likewise
    MOTION = 5  # motions.value, by dof
    AIM = 6  # affine.driving_aim, by dof
    HOLD_RATE = 7  # affine.hold_rate, by 6 * body + component
    HOLD_SHIFT = 8  # affine.hold_shift, likewise
    SURFACE_VELOCITY = 9  # shapes.surface_velocity, by 3 * shape + component
    CONTACT_FRICTION = 10  # contacts.friction, by combination
    FRICTION = 11  # dofs.friction, by dof; of a coupling that of its coordinate
    ROPE_TENSION = 12  # ropes.tension, by rope
    MUSCLE = 13  # ropes.muscle_activation, by muscle


@unique
class MotionKind(IntEnum):
    """How the motion of a dof is prescribed."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2


@dataclass(frozen=True)
class Lawful(Table, left_out=FOUND_AGAIN):
    """Dofs on which laws act that no smooth force of a tree states (constraints/build.py), in any phase of a run.

    Attributes:
        acts: any of them.
        limited: bounds, hard or soft.
        beyond_limits: others than limits.
    """

    acts: Array = per("NV", kind=bool)
    limited: Array = per("NV", kind=bool)
    beyond_limits: Array = per("NV", kind=bool)


@dataclass(frozen=True)
class Signals(Table, left_out=IN_SCENE):
    """Functions of time t [s], one number each; a signal of several numbers is several rows.

        CONSTANT  p0
        SINE      p3 + p0 sin(p1 t + p2)
        STEP      p0, from p2 on p1
        RAMP      p0 until p2, a straight line, p1 from p3 on
        CHIRP     p0 sin(phase), phase' = 2 pi f, f from p1 to p2 over the time p3, p2 from then on
        TABLE     c0 + c1 s + c2 s^2 + c3 s^3,  s = t - knot of the last piece that begins by t, the first one before
        FEEDBACK  the last sample, see `Feedback`

    Attributes:
        name: (K,) as `sweep`, or `push:2` for a signal of several numbers.
        kind: SignalKind.
        parameter: p0 to p3, in the units of what the signal drives, s, Hz, rad and rad/s.
        piece_start: offsets into the pieces of tables.
        knot: where each piece begins; the same in all worlds.
        cubic: c0 to c3.
    """

    name: tuple[str, ...]
    kind: Array = per("K")
    parameter: Array = per("W|1 K 4", changes=Changes.NUMBERS)
    piece_start: Array = per("K+1")
    knot: Array = per("P", "s", changes=Changes.NUMBERS, kind=float)
    cubic: Array = per("W|1 P 4", changes=Changes.NUMBERS)


@dataclass(frozen=True)
class Feedback(Table, left_out=IN_SCENE):
    """Laws of the signals that follow the motion: three-address code, of which each line has a value.

    A law is taken where a step begins whose number is a multiple of `every`; until its next sample its signal keeps the
    value of the line `result`. The laws stand in an order in which each comes after those that it names.

    Attributes:
        signal: index into the signals.
        every: steps from one sample to the next.
        start: offsets into the lines.
        result: line of the law that is its value, counted from its first.
        op: `Op`.
        x, y: (L,) lines of the same law, counted from its first; 0 where the line has none.
        index: of a constant, a quantity, a signal or a state; 0 where the line has none.
        length: most samples of a DELAY, else 1.
        constant: in the units of what the signals drive, and of what they see.
        quantity: (Q,) names of `channel_names`, each with its component.
        told: (E,) what events by condition say and do, a line each.
        told_again: whether each may take place more than once.
        told_state: states of the time at which each took place last, and of how often it did.
        n_states: numbers that last from one sample to the next; NaN before the first.
    """

    signal: Array = per("F")
    every: Array = per("F")
    start: Array = per("F+1")
    result: Array = per("F")
    op: Array = per("L")
    x: Array = per("L")
    y: Array = per("L")
    index: Array = per("L")
    length: Array = per("L")
    constant: Array = per("W|1 C", changes=Changes.NUMBERS)
    quantity: tuple[tuple[str, int], ...]
    told: tuple[str, ...]
    told_again: Array = per("E", kind=bool)
    told_state: Array = per("E 2")
    n_states: int


@dataclass(frozen=True)
class Inputs(Table, left_out=IN_SCENE):
    """What signals drive: a number of a column is its own value plus gain times signal, summed over its rows here.

    Attributes:
        column: Driven.
        item: index into that column.
        signal: index into the signals.
    """

    column: Array = per("N")
    item: Array = per("N")
    signal: Array = per("N")
    gain: Array = per("W|1 N")


@dataclass(frozen=True)
class Motions(Table, left_out=IN_SCENE):
    """Prescribed motions per velocity coordinate.

    Attributes:
        kind: MotionKind.
        value: coordinate or velocity; 0 where there is no motion or a signal gives it.
    """

    kind: Array = per("NV")
    value: Array = per("W|1 NV", changes=Changes.NUMBERS)


def delays_of(feedback: Feedback, law: int) -> Array:
    """Samples by which a law takes effect late, (W|1,)."""
    first, end = feedback.start[law : law + 2]
    late = first + np.flatnonzero(feedback.op[first:end] == Op.DELAY)
    return feedback.constant[:, feedback.index[first + feedback.y[late]]].sum(axis=1)


def acting_feedback(model, columns: tuple[Driven, ...] = tuple(Driven)) -> list[str]:
    """Names of the signals that follow the motion and drive something.

    Args:
        model: a Model.
        columns: of what they drive.
    """
    inputs = model.inputs
    used = set(inputs.signal[np.isin(inputs.column, columns)].tolist())
    return [model.signals.name[k] for k in model.feedback.signal if k in used]


@dataclass(frozen=True)
class Sensors(Table, left_out=IN_SCENE):
    """Sensors, in file order. Bodies and joints are -1 where there is none; of bodies that is the world.

    Attributes:
        types: names of what each gives.
        body: of the frame.  pose: of the frame in it.
        base: of the frame from which it is seen; of joints the child.  base_pose: in it; of joints the anchor of the child.
        shape: whose contacts are summed.  toucher: body whose contacts are.
        radius: of a zone, -1 without.  half: half the lengths of a zone, -1 without.
        reach: of range finders, 1e30 without an end.
        sigma, density, walk, turn_on, drift, drift_time, quantum: of noise, see `NoiseSpec`; 0 without.
        rate: 0 for each step.
        subtree: bodies of each, none of sensors of other types.
    """

    name: tuple[str, ...]
    types: tuple[tuple[str, ...], ...]
    body: Array = per("S")
    pose: Array = per("W|1 S pose", "m, 1")
    base: Array = per("S")
    base_pose: Array = per("W|1 S pose", "m, 1")
    joint: Array = per("S")
    subtree: tuple[tuple[int, ...], ...]
    shape: Array = per("S")
    toucher: Array = per("S")
    radius: Array = per("W|1 S", "m")
    half: Array = per("W|1 S xyz", "m")
    reach: Array = per("W|1 S", "m")
    is_noisy: Array = per("S", kind=bool)
    sigma: Array = per("W|1 S")
    density: Array = per("W|1 S")
    walk: Array = per("W|1 S")
    turn_on: Array = per("W|1 S")
    drift: Array = per("W|1 S")
    drift_time: Array = per("W|1 S", "s")
    quantum: Array = per("W|1 S")
    rate: Array = per("W|1 S", "Hz")
    delay: Array = per("W|1 S", "s")
