"""Words of other programs and formats (MJCF, URDF, SDF, Drake, PhysX, textbooks) and what they are called here."""

from collections.abc import Sequence

from simcli.joint_types import JOINT_TYPES

# Keys: word to the keys or dotted paths that mean it, the likeliest first. A path that begins with a section is the
# place in the file; any other is meant from the mapping in which the word stands.
KEYS: dict[str, tuple[str, ...]] = {
    # sections
    "link": ("bodies", "child"), "links": ("bodies",), "body": ("bodies", "child"), "rigid_bodies": ("bodies",),
    "worldbody": ("bodies", "world"), "joint": ("joints",), "constraint": ("joints",), "constraints": ("joints",),
    "equality": ("joints",), "connections": ("joints",), "force": ("forces",), "loads": ("forces",),
    "springs": ("forces",), "option": ("solver",), "options": ("solver",), "settings": ("solver",),
    "simulation": ("solver", "run"), "simulator": ("solver",), "integrators": ("solver",), "parameters": ("params",),
    "parameter": ("params",), "variables": ("params",), "constants": ("params",), "functions": ("signals",),
    "inputs": ("signals",), "templates": ("models",), "keyframe": ("keyframes", "initial"), "initial_state": ("initial",),
    "initial_conditions": ("initial",), "sensors": ("output.channels",), "sensor": ("output.channels",),
    "results": ("output",), "sweep": ("batch.vary",), "randomize": ("batch.vary",), "asserts": ("expect",),
    "tests": ("expect",), "imports": ("include",), "version": ("simcli",), "title": ("name", "description"),
    # times
    "timestep": ("solver.dt",), "time_step": ("solver.dt",), "step_size": ("solver.dt",), "max_step_size": ("solver.dt",),
    "h": ("solver.dt",), "method": ("solver.integrator",), "scheme": ("solver.integrator",),
    "solver_type": ("solver.type",), "iterations": ("max_iterations", "solver.max_iterations"), "t_end": ("run.duration",),
    "tend": ("run.duration",), "end_time": ("run.duration",), "stop_time": ("run.duration",),
    "simulation_time": ("run.duration",), "time": ("run.duration",), "interval": ("output.every",),
    "sample_time": ("output.every",), "output_step": ("output.every",), "decimation": ("output.every",),
    "n_worlds": ("batch.worlds",), "num_worlds": ("batch.worlds",), "num_envs": ("batch.worlds",),
    "envs": ("batch.worlds",), "samples": ("batch.worlds",), "random_seed": ("batch.seed",),
    "csv": ("batch.table", "table"), "design": ("batch.table",), "header": ("columns",), "headers": ("columns",),
    # ways to vary
    "gaussian": ("normal",), "gauss": ("normal",), "truncnorm": ("normal",), "truncated_normal": ("normal",),
    "minimum": ("low",), "maximum": ("high",), "corr": ("correlation",), "cov": ("covariance",), "rand": ("uniform",),
    "latin_hypercube": ("lhs",), "latin": ("lhs",), "bins": ("strata",), "n_strata": ("strata",), "dim": ("dimension",),
    "owen": ("scrambled_sobol",), "sobol_scrambled": ("scrambled_sobol",), "categorical": ("choice",),
    "choices": ("choice",), "probabilities": ("weights",), "loguniform": ("log_uniform",), "rows": ("table",),
    "together": ("zip",), "product": ("grid",),
    # bodies
    "geom": ("shapes",), "geoms": ("shapes",), "geometry": ("shapes",), "geometries": ("shapes",), "shape": ("shapes",),
    "collision": ("shapes", "collide"), "collisions": ("shapes",), "visual": ("shapes",), "colliders": ("shapes",),
    "origin": ("pose", "at"), "position": ("pose.xyz", "xyz", "at", "target"), "pos": ("pose.xyz", "xyz", "at"),
    "translation": ("pose.xyz", "xyz"), "location": ("pose.xyz", "xyz", "at"), "transform": ("pose",),
    "orientation": ("pose.quat_xyzw", "quat_xyzw"), "quat": ("pose.quat_xyzw", "quat_xyzw"),
    "quaternion": ("pose.quat_xyzw", "quat_xyzw"), "rotation": ("pose.rpy", "rpy"), "euler": ("pose.rpy", "rpy"),
    "axisangle": ("pose.axis_angle", "axis_angle"), "inertial": ("inertia",), "moments": ("inertia.diag", "diag"),
    "moment_of_inertia": ("inertia",), "diaginertia": ("inertia.diag", "diag"), "fullinertia": ("inertia.full", "full"),
    "ixx": ("inertia.diag", "diag"), "iyy": ("inertia.diag", "diag"), "izz": ("inertia.diag", "diag"),
    "ixy": ("inertia.full", "full"), "ixz": ("inertia.full", "full"), "iyz": ("inertia.full", "full"),
    "ipos": ("com",), "center_of_mass": ("com",), "centre_of_mass": ("com",), "cog": ("com",), "markers": ("points",),
    "site": ("frames", "points"), "sites": ("frames", "points"), "static": ("kinematic",), "fixed": ("kinematic",),
    "mocap": ("kinematic",), "initial_velocity": ("velocity", "qd"), "linear_velocity": ("velocity.linear", "linear"),
    "angular_velocity": ("velocity.angular", "angular"), "omega": ("velocity.angular", "angular"),
    # shapes and materials
    "height": ("length",), "half_length": ("length",), "half_height": ("length",), "hz": ("size",),
    "half_extents": ("size",), "half_extent": ("size",), "half_size": ("size",), "half_sizes": ("size",),
    "halfsize": ("size",), "extents": ("size",), "dimensions": ("size",), "lengths": ("size",), "semi_axes": ("radii",),
    "axes_lengths": ("radii",), "r": ("radius",), "filename": ("file",), "uri": ("file",), "path": ("file",),
    "mesh": ("file",), "rho": ("density",), "mu": ("friction", "materials"), "coulomb_friction": ("friction",),
    "sliding_friction": ("friction",), "dynamic_friction": ("friction",), "mu_dynamic": ("friction",),
    "static_friction": ("friction_static",), "mu_static": ("friction_static",), "mu2": ("friction_across",),
    "spin_friction": ("torsional_friction",), "roll_friction": ("rolling_friction",),
    "bounce": ("restitution",), "elasticity": ("restitution",), "cor": ("restitution",),
    "contype": ("collide",), "conaffinity": ("collide",), "condim": ("friction",), "is_collidable": ("collide",),
    # joints
    "anchor": ("at",), "pivot": ("at",), "parent_at": ("parent_frame",), "parent_anchor": ("parent_frame",),
    "child_at": ("child_frame",), "child_anchor": ("child_frame",),
    "child_link": ("child",), "child_body": ("child",), "successor": ("child",),
    "parent_link": ("parent",), "parent_body": ("parent",), "predecessor": ("parent",), "base": ("parent",),
    "body1": ("parent", "a"), "body2": ("child", "b"), "body_a": ("parent", "a"), "body_b": ("child", "b"),
    "direction": ("axis", "normal"), "motor": ("drive",), "motors": ("drive",), "actuator": ("drive",),
    "actuators": ("drive",), "servo": ("drive",), "control": ("drive",), "controller": ("drive",),
    "transmission": ("drive",), "kp": ("drive.stiffness", "stiffness"), "kd": ("drive.damping", "damping"),
    "ke": ("stiffness",), "kv": ("drive.damping", "damping"), "p_gain": ("drive.stiffness", "stiffness"),
    "d_gain": ("drive.damping", "damping"), "k": ("stiffness",), "c": ("damping",), "d": ("damping",),
    "gain": ("stiffness",), "gains": ("stiffness",), "target_ke": ("drive.stiffness", "stiffness"),
    "target_kd": ("drive.damping", "damping"), "limit_ke": ("limit.stiffness", "stiffness"),
    "limit_kd": ("limit.damping", "damping"), "damping_coefficient": ("damping",), "viscosity": ("damping",),
    "viscous_friction": ("damping",), "stiffness_coefficient": ("stiffness",), "spring_stiffness": ("stiffness",),
    "springref": ("target", "rest_angle", "drive.target"), "frictionloss": ("friction",), "dry_friction": ("friction",),
    "rotor_inertia": ("armature",), "reflected_inertia": ("armature",), "range": ("limit",), "limits": ("limit",),
    "limited": ("limit",), "lower": ("limit.lower",), "upper": ("limit.upper",), "lower_limit": ("limit.lower", "lower"),
    "upper_limit": ("limit.upper", "upper"), "min_angle": ("limit.lower",), "max_angle": ("limit.upper",),
    "bounds": ("limit",), "effort": ("effort_limit", "drive.effort_limit"),
    "ctrlrange": ("effort_limit", "drive.effort_limit"), "forcerange": ("effort_limit", "drive.effort_limit"),
    "actuatorfrcrange": ("effort_limit", "drive.effort_limit"), "max_force": ("effort_limit", "drive.effort_limit"),
    "max_torque": ("effort_limit", "drive.effort_limit"), "max_effort": ("effort_limit", "drive.effort_limit"),
    "velocity": ("velocity_limit", "target_velocity"), "max_velocity": ("velocity_limit", "max_velocity"),
    "max_speed": ("velocity_limit",), "setpoint": ("target", "drive.target"), "reference": ("target", "drive.target"),
    "angle": ("q", "target"), "q0": ("q",), "qd0": ("qd",), "initial_position": ("q",), "ref": ("init_angle",),
    "gear": ("mimic", "ratio"), "gear_ratio": ("mimic.ratio", "ratio"), "multiplier": ("ratio",), "loop_joint": ("loop",),
    "lead": ("pitch",), "thread_pitch": ("pitch",), "softness": ("compliance",), "active": ("enabled",),
    # forces and signals
    "l0": ("rest_length",), "free_length": ("rest_length",), "natural_length": ("rest_length",), "from": ("a",),
    "rest": ("rest_length", "rest_angle"), "free_angle": ("rest_angle",), "to": ("b",), "start": ("a",), "end": ("b",),
    "point1": ("a",), "point2": ("b",), "moment": ("torque", "inertia"), "point_of_application": ("at",),
    "freq": ("frequency",), "amp": ("amplitude",), "mean": ("offset",), "bias": ("offset",), "times": ("time",),
    "values": ("value",), "tolerance_abs": ("within",), "tol": ("within", "tolerance"), "atol": ("within",),
    "expected": ("equals",), "less_than": ("below",), "greater_than": ("above",),
}

# Values of keys with a few words to choose from, and names of the world.
VALUES: dict[str, tuple[str, ...]] = {
    **{word: (name,) for name, entry in JOINT_TYPES.items() for word in entry.words}, "rope": ("distance", "spring"),
    "cube": ("box",), "cuboid": ("box",), "pill": ("capsule",), "half_space": ("plane",), "halfspace": ("plane",),
    "ground": ("plane", "world"), "hfield": ("heightfield",), "terrain": ("heightfield",), "trimesh": ("mesh",),
    "ellipse": ("ellipsoid",), "tube": ("cylinder",), "spring_damper": ("spring",), "tsda": ("spring",),
    "rsda": ("torsion",), "rotational_spring": ("torsion",), "force": ("wrench", "effort"), "load": ("wrench",),
    "motor": ("torque", "effort"), "moment": ("torque",), "pd": ("position",), "servo": ("position",),
    "torque": ("effort",), "position_control": ("position",), "velocity_control": ("velocity",),
    "speed": ("velocity",), "euler": ("semi_implicit", "bdf1"), "symplectic_euler": ("semi_implicit",),
    "explicit": ("semi_implicit",), "runge_kutta": ("rk4",), "implicitfast": ("implicit",),
    "backward_euler": ("bdf1", "implicit"), "implicit_euler": ("bdf1", "implicit"), "newmark": ("generalized_alpha",),
    "hht": ("generalized_alpha",), "time_stepping": ("moreau",), "featherstone": ("generalized",),
    "reduced": ("generalized",), "articulated": ("generalized",), "joint_space": ("generalized",),
    "xpbd": ("maximal",), "redundant": ("maximal",), "ancf": ("natural",), "abd": ("affine",), "ipc": ("affine",),
    "double": ("float64",), "single": ("float32",), "angle": ("q",), "rate": ("qd",),
    "acceleration": ("qdd",), "speed_of_rotation": ("angular_velocity",), "attitude": ("orientation",),
    "nearest": ("previous",), "spline": ("cubic",), "freeze": ("isolate",), "abort": ("stop",),
    "worldbody": ("world",), "base": ("world",), "inertial": ("world",), "static": ("world",), "none": ("world",),
}

# The last words of quantities.
QUANTITY_WORDS: dict[str, tuple[str, ...]] = {
    "torque": ("effort",), "force": ("effort",), "moment": ("effort",), "angle": ("q",), "position": ("q",),
    "speed": ("velocity", "qd"), "velocity": ("qd",), "rate": ("qd",), "acceleration": ("qdd",), "power": ("drive_power",),
    "omega": ("angular_velocity", "qd"), "attitude": ("orientation",), "rotation": ("orientation",),
}

# What other formats have and this one has not.
NOT_HERE: dict[str, str] = {
    "rgba": "a body is drawn as `look: {colour: orange}` says", "color": "a body is drawn as `look: {colour: orange}` says",
    "colour": "a body is drawn as `look: {colour: orange}` says", "texture": "scenes hold no textures: remove it",
    "camera": "cameras stand in `look: {cameras: ..}` of the scene", "light": "scenes hold no lights: remove it",
    "visuals": "what is only seen stands in `look: {shapes: ..}` of the body",
    "solref": "contacts and limits are hard: remove it, or give `stiffness`",
    "solimp": "contacts and limits are hard: remove it, or give `stiffness`",
    "i_gain": "drives have no integral part: remove it", "ki": "drives have no integral part: remove it",
}

# Numbers that other formats give by halves.
HALVES = frozenset(
    ("half_length", "half_height", "hz", "half_extents", "half_extent", "half_size", "half_sizes", "halfsize")
)


def folded(word: str) -> str:
    """A word as the tables spell it."""
    return word.lower().replace("-", "_").replace(" ", "_")


def value_meant(word: str, allowed: tuple[str, ...]) -> str:
    """The allowed value that a word of other programs means; "" if there is none."""
    return next((one for one in VALUES.get(folded(word), ()) if one in allowed), "")


def quantity_meant(name: str, known: Sequence[str]) -> str:
    """The known quantity that a name means in words of other programs; "" if there is none.

    Args:
        name: as `joint.pin.torque`.
        known: whole names of quantities.
    """
    subject, _, word = name.rpartition(".")
    meant = (f"{subject}.{one}" for one in QUANTITY_WORDS.get(folded(word), ()))
    return next((one for one in meant if one in known), "")
