"""The scene: SceneSpec, and what is written in a file but gone after expansion (SceneFile)."""

import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from simcli.spec.schema.batch import BatchSpec
from simcli.spec.schema.body import BodySpec, MaterialSpec, WorldSpec
from simcli.spec.schema.contact_options import BarrierSpec, ContactSolvingSpec, ContactSpec
from simcli.spec.schema.expect import ExpectSpec, MeasureSpec
from simcli.spec.schema.forces import ForceSpec
from simcli.spec.schema.joint import JointSpec
from simcli.spec.schema.pose import PoseSpec
from simcli.spec.schema.run_sections import EventSpec, InitialSpec, KeyframeSpec, OutputSpec, RunSpec
from simcli.spec.schema.sensor import SensorSpec
from simcli.spec.schema.shape import LookSpec
from simcli.spec.schema.signals import SignalSpec
from simcli.spec.values.quantities import (
    REQUIRED,
    Plain,
    PositiveTime,
    Text,
    Truth,
    count,
    doc,
    quantity,
    refuse,
    spell,
    vector,
)
from simcli.spec.values.spec_model import ByType, SpecModel

PositiveCount = count(gt=0)
_Precision = Literal["float64", "float32"]
_STEPPING = "Time stepping; auto: of second order where the motion is smooth, of first order with contact or sudden laws"


class _Solver(SpecModel):
    dt: PositiveTime = doc(1e-3, "Time step", "s", 1e-3)
    precision: _Precision = doc("float64", "Floating-point type of the simulation", "", "float32")
    max_velocity: quantity("", gt=0) = doc(1e6, "A joint velocity beyond it counts as divergence", "rad/s or m/s", 1e6)


class _Impulsive(_Solver):
    contact: ContactSolvingSpec = doc(ContactSolvingSpec, "How contacts are found and solved", "", "{tolerance: 1e-10}")


class GeneralizedSolver(_Impulsive):
    """Joint coordinates of a tree."""

    type: Literal["generalized"] = doc("generalized", "Kind of coordinates", "", "generalized")
    integrator: Literal["auto", "semi_implicit", "rk4", "implicit"] = doc("auto", _STEPPING, "", "rk4")


class _Correcting(_Impulsive):
    tolerance: quantity("m", gt=0) = doc(
        1e-12, "Largest residual of the equations after a step; single precision takes 2e-6 at least", "m", 1e-12
    )
    max_iterations: count(gt=0) = doc(
        30, "Most position corrections in one step; the violation that they leave is in diag/position_violation", "", 30
    )


class MaximalSolver(_Correcting):
    """Position and quaternion per body, joints as constraint equations."""

    type: Literal["maximal"] = doc(REQUIRED, "Kind of coordinates", "", "maximal")
    integrator: Literal["auto", "semi_implicit"] = doc("auto", _STEPPING, "", "semi_implicit")
    joint_direction: Literal["auto", "explicit", "implicit"] = doc(
        "auto",
        "Joint forces along directions at the start of a step (explicit), or at its end (implicit), which damps and "
        "is stable with heavy loads on light bodies; auto: implicit where dt^2 times the weight of connected bodies would "
        "turn one of them too far",
        "",
        "implicit",
    )


class NaturalSolver(_Correcting):
    """Points and vectors per body, rigidity as constraint equations."""

    type: Literal["natural"] = doc(REQUIRED, "Kind of coordinates", "", "natural")
    integrator: Literal["auto", "zhong06", "generalized_alpha", "moreau"] = doc("auto", _STEPPING, "", "moreau")
    spectral_radius: quantity("", ge=0, le=1) = doc(
        0.8, "generalized_alpha: amplitude of a high frequency after a step; 1 damps nothing", "", 0.9
    )


class AffineSolver(_Solver):
    """Twelve numbers per body; rigidity and joints are stiff energies."""

    type: Literal["affine"] = doc(REQUIRED, "Kind of coordinates", "", "affine")
    integrator: Literal["auto", "bdf1", "bdf2"] = doc("auto", _STEPPING, "", "bdf2")
    tolerance: quantity("m", gt=0) = doc(1e-6, "Largest displacement by the last iteration of a step", "m", 1e-9)
    max_iterations: count(gt=0) = doc(100, "Iterations per step before the world counts as failed", "", 50)
    stiffness: quantity("Pa", gt=0) = doc(1e8, "Stiffness of the rigidity of bodies, times their volume", "Pa", 1e9)
    strength_ratio: quantity("", gt=0) = doc(
        100.0, "Stiffness of joints that give none, as a ratio of mass / dt^2", "", 1000
    )
    friction_speed: quantity("", gt=0) = doc(
        0.01, "Speed at which dry friction of joints is full; held joints creep more slowly", "rad/s or m/s", 1e-3
    )
    contact: BarrierSpec = doc(BarrierSpec, "Barrier contact", "", "{d_hat: 1 mm}")


SolverSpec = Annotated[
    GeneralizedSolver | MaximalSolver | NaturalSolver | AffineSolver,
    ByType(GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver),
]


def _version(value: object) -> object:
    if type(value) is not int or value != 1:
        raise refuse("SC206", f"{spell(value)} is no version of the format that this program reads", "write simcli: 1")
    return value


Version = Annotated[int, BeforeValidator(_version), WithJsonSchema({"const": 1})]


# What an editor refuses: most signs. Which letters of other alphabets there are, regular expressions of JSON do not know.
TITLE_PATTERN = (
    r"^[^\u0000-\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u00a0]"
    r"[^\u0000-\u002c\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u00a0]{0,99}$"
)
_MOST_OF_TITLE = 100  # characters
_MOST_BYTES_OF_TITLE = 200  # in UTF-8: a file may have 255, of which a draft of it takes some


def _fits_title(character: str) -> bool:
    """Whether a name of a scene may have a character: letters of any alphabet with their marks, digits, `.`, `_`, `-`."""
    return character in "._-" or character.isalnum() or unicodedata.category(character)[0] == "M"


def _is_title(text: str) -> bool:
    return (
        0 < len(text) <= _MOST_OF_TITLE
        and len(text.encode(errors="replace")) <= _MOST_BYTES_OF_TITLE
        and all(map(_fits_title, text))
        and (text[0] == "_" or text[0].isalnum())
    )


def _title(value: object) -> object:
    if isinstance(value, str) and not _is_title(value):
        hint = "letters, digits, ., _ and -, a letter or digit first, at most 100; `-o` says where the result goes"
        raise refuse("SC312", f"{spell(value)} is not the name of a scene", hint)
    return value


def title_of_stem(stem: str) -> str:
    """The name of a scene that has none: the stem of its file, with _ for what a name cannot hold."""
    whole = unicodedata.normalize("NFC", stem)[:_MOST_OF_TITLE]  # as which some file systems give the letters of a name
    made = "".join(one if _fits_title(one) else "_" for one in whole)
    made = made if made[:1] == "_" or made[:1].isalnum() else f"_{made}"[:_MOST_OF_TITLE]
    return made.encode()[:_MOST_BYTES_OF_TITLE].decode(errors="ignore")


Title = Annotated[Text, AfterValidator(_title), WithJsonSchema({"type": "string", "pattern": TITLE_PATTERN})]


class SceneSpec(SpecModel):
    """A scene with everything expanded: SI numbers, vectors as tuples, names as they are simulated."""

    simcli: Version = doc(REQUIRED, "Version of the scene format", "", 1)
    name: Title = doc("", "Name, of the file of its results too; default: the stem of the scene's file", "", "slider_crank")
    description: Text = doc("", "What the scene shows", "", "A slider-crank at constant speed")
    params: dict[str, Plain] = doc(dict, 'Numbers for "${...}"', "", "{L: 0.4}")
    materials: dict[str, MaterialSpec] = doc(dict, "Materials by name", "", "{steel: {density: 7850, friction: 0.3}}")
    world: WorldSpec = doc(WorldSpec, "What is fixed", "", "{gravity: [0, 0, -9.81]}")
    bodies: dict[str, BodySpec] = doc(dict, "Bodies by name", "", "{crank: {mass: 1, inertia: {diag: [1e-3, 2e-3, 2e-3]}}}")
    joints: dict[str, JointSpec] = doc(dict, "Joints by name", "", "{pin: {type: revolute, parent: world, child: crank}}")
    articulations: dict[str, tuple[Text, ...]] | None = doc(None, "Names for groups of joints", "", "{arm: [pin, elbow]}")
    allow_orphan_joints: Truth = doc(False, "Allow joints in no articulation (not with the generalized solver)", "", True)
    forces: dict[str, ForceSpec] = doc(dict, "Forces by name", "", "{t1: {type: torque, joint: pin, value: 2}}")
    signals: dict[str, SignalSpec] = doc(
        dict, "Functions of time by name", "", "{sweep: {sine: {amplitude: 1, frequency: 2}}}"
    )
    sensors: dict[str, SensorSpec] = doc(dict, "Sensors by name", "", "{imu: {type: gyro, at: crank/imu}}")
    events: tuple[EventSpec, ...] = doc(
        (), "Values that change during the run", "", "[{at: 1, set: {joints.pin.enabled: false}}]"
    )
    contact: ContactSpec = doc(ContactSpec, "Contact", "", "{enabled: false}")
    keyframes: dict[str, KeyframeSpec] = doc(dict, "States by name, for `initial`", "", "{home: {joint_q: {pin: 0.2}}}")
    initial: InitialSpec = doc(InitialSpec, "Initial state", "", "{joint_q: {pin: 0.2}}")
    solver: SolverSpec = doc(GeneralizedSolver, "Solver and time step", "", "{type: generalized, dt: 1e-3}")
    run: RunSpec = doc(RunSpec, "Duration", "", "{duration: 10}")
    output: OutputSpec = doc(OutputSpec, "What is written", "", "{every: 0.01}")
    look: LookSpec = doc(LookSpec, "How it is drawn: background and cameras", "", "{background: white}")
    batch: BatchSpec = doc(BatchSpec, "Worlds and what differs between them", "", "{worlds: 1024, seed: 7}")
    measure: dict[str, MeasureSpec] = doc(
        dict, "Numbers per world, found at every step, by name", "", "{peak: {max_abs: joint.shaft.drive_effort}}"
    )
    expect: tuple[ExpectSpec, ...] = doc((), "Acceptance tests", "", "[{max: energy.drift, below: 1e-6}]")


Raw = dict[str, Any]


class DefaultsSpec(SpecModel):
    """Values for joints, shapes and bodies that do not write their own; below a name or pattern for those that it means."""

    joint: Raw = doc(dict, "For every joint, or by name or pattern", "", '{damping: 0.01, "arm_*": {friction: 0.1}}')
    shape: Raw = doc(dict, "For every shape, or by name or pattern", "", "{material: steel}")
    body: Raw = doc(dict, "For every body, or by name or pattern", "", "{}")


class InstanceSpec(SpecModel):
    """A copy of a model, its names with the prefix `NAME/`."""

    model: Text = doc(REQUIRED, "Name of the model", "", "link")
    at: PoseSpec = doc(PoseSpec, "Where its world frame is placed", "", "{xyz: [0, 1, 0]}")
    params: Raw = doc(dict, "Own values of the model's parameters", "", "{L: 0.5}")


_COUNT_JSON = {"type": ["integer", "string"], "x-words": []}


def _per_axis(value: object) -> object:
    if isinstance(value, list | tuple):
        return [*value, *[1] * (3 - len(value))]
    return [value, 1, 1]


class ReplicaSpec(InstanceSpec):
    """Copies of a model on a grid, their names with the prefix `NAME/i-j-k/`; `count: 5` makes a line."""

    count: Annotated[
        tuple[PositiveCount, PositiveCount, PositiveCount],
        BeforeValidator(_per_axis),
        WithJsonSchema({"type": ["integer", "string", "array"], "items": _COUNT_JSON, "maxItems": 3, "x-words": []}),
    ] = doc(REQUIRED, "Copies along x, y, z, or along a line", "", [3, 3, 1])
    spacing: vector("m") = doc(REQUIRED, "Distance between copies along x, y, z", "m", [1, 1, 0])


class ModelSpec(SpecModel):
    """A template: a small scene of bodies and joints with own parameters."""

    params: Raw = doc(dict, "Parameters and their default values", "", "{L: 0.4}")
    bodies: Raw = doc(dict, "Bodies, as in the scene", "", "{link: {mass: 1}}")
    joints: Raw = doc(dict, "Joints, as in the scene", "", "{hinge: {type: revolute, parent: world, child: link}}")
    forces: Raw = doc(dict, "Forces, as in the scene", "", "{}")
    signals: Raw = doc(dict, "Signals, as in the scene", "", "{}")
    sensors: Raw = doc(dict, "Sensors, as in the scene", "", "{}")
    articulations: Raw = doc(dict, "Articulations, as in the scene", "", "{arm: [hinge]}")
    instances: Raw = doc(dict, "Models inside this one", "", "{tip: {model: gripper}}")
    replicate: Raw = doc(dict, "Replicas inside this one", "", "{}")


# Keys of a file that are gone after expansion.
AUTHORING: dict[str, Any] = {
    "include": list[str],
    "resolved": Truth,
    "defaults": DefaultsSpec,
    "models": dict[str, ModelSpec],
    "instances": dict[str, InstanceSpec],
    "replicate": dict[str, ReplicaSpec],
}
AUTHORING_WORDS = {
    "include": "Files below the scene's folder, merged under this one. Example: [materials.yaml]",
    "resolved": "Written by simcli: names may hold the slash of instances. Example: true",
    "defaults": "Values for what is not written. Example: {joint: {damping: 0.01}}",
    "models": "Templates by name. Example: {link: {bodies: {}, joints: {}}}",
    "instances": "Copies of models. Example: {left: {model: link, at: {xyz: [0, 1, 0]}}}",
    "replicate": "Copies of models on a grid. Example: {grid: {model: link, count: [3, 3, 1], spacing: [1, 1, 0]}}",
}
ENTRY_SECTIONS = ("materials", "bodies", "joints", "forces", "signals", "sensors")
