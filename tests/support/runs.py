"""Runs of whole commands, and the bytes that they leave: what "the same" means in tests of promises."""

import h5py
import numpy as np

GROUPS = ("frames", "energy", "diag", "contacts", "events")

# Three kinds of joints and every kind of force on two trees; nothing in it is at rest, straight or symmetric.
MIXED = """
simcli: 1
params: {k: 40.0, lift: 1.5}
world: {gravity: [0.3, -0.2, -9.81]}
bodies:
  cart: {mass: 2.0, com: [0.01, 0.02, -0.03], inertia: {diag: [0.2, 0.25, 0.3]}}
  arm:
    pose: {xyz: [0.1, 0, -0.4]}
    mass: 1.2
    com: [0, 0.01, 0.02]
    inertia: {full: [[0.1, 0.01, 0], [0.01, 0.12, 0.005], [0, 0.005, 0.05]]}
  hand:
    pose: {xyz: [0.1, 0.1, -0.8], rpy: [0.2, 0.1, 0]}
    mass: 0.7
    inertia: {diag: [0.02, 0.03, 0.025]}
    points: {tip: [0, 0, -0.2]}
  probe:
    pose: {xyz: [0.5, 1.0, 0.2], rpy: [0.3, 0.2, 0.1]}
    mass: 0.9
    com: [0.02, 0, 0.01]
    inertia: {diag: [0.03, 0.05, 0.04]}
    velocity: {linear: [0.1, 0.5, 1.0], angular: [3, 1, 2]}
    points: {hook: [0.1, 0, 0]}
joints:
  rail:
    type: prismatic
    parent: world
    child: cart
    at: [0, 0, 0]
    axis: [1, 0, 0.2]
    q: 0.1
    qd: 0.4
    damping: 0.3
    drive: {mode: position, target: 0.2, stiffness: 30, damping: 2}
  shoulder: {type: ball, parent: cart, child: arm, at: [0.05, 0, -0.1], qd: [0.5, 1.0, -0.7]}
  wrist:
    type: revolute
    parent: arm
    child: hand
    at: [0.1, 0.05, -0.6]
    axis: [0, 1, 0.1]
    qd: 1.0
    damping: 0.02
    armature: 0.01
forces:
  cord: {type: spring, a: hand/tip, b: probe/hook, stiffness: "${k}", damping: 0.5, rest_length: 1.0}
  push: {type: wrench, body: probe, force: [0, 0, "${lift}"], torque: [0.01, 0, 0], at: [0.05, 0, 0]}
  spin: {type: torque, joint: wrist, value: 0.3}
solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}
run: {duration: 0.06}
output: {every: 0.01, channels: [state, energy, reactions]}
"""

# Small and quick; for runs of many frames.
SWING = """
simcli: 1
bodies:
  upper: {pose: {xyz: [0, 0, -0.5]}, mass: 1.0, inertia: {diag: [0.1, 0.1, 0.01]}}
  lower: {pose: {xyz: [0, 0, -1.5]}, mass: 1.0, inertia: {diag: [0.1, 0.1, 0.01]}, points: {tip: [0, 0, -0.5]}}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], q: 2.0}
  elbow: {type: revolute, parent: upper, child: lower, at: [0, 0, -1], axis: [0, 1, 0], q: 0.5, damping: 0.01}
forces:
  motor: {type: torque, joint: pin, value: 0.0}
solver: {type: generalized, dt: 1.0e-3, integrator: rk4}
run: {duration: 0.06}
output: {every: 0.01}
"""


def committed(path) -> dict[str, np.ndarray]:
    """Committed rows of every dataset that grows with the run, read with h5py alone; of the ragged ones all.

    Of a file whose writer died, the events up to the last committed frame.
    """
    with h5py.File(path, "r", swmr=True) as file:
        n = int(file["run/n_committed"][()])
        found = {
            name: item[:n] if name.split("/")[0] not in ("contacts", "events") else item[...]
            for group in GROUPS
            if group in file
            for name, item in _growing(file[group], group)
        }
    last = int(found["frames/step"][-1]) if n else -1
    keep = found["events/step"] <= last
    return found | {name: rows[keep] for name, rows in found.items() if name.startswith("events/")}


def _growing(group, path):
    """Datasets below a group that grow with the run, with their paths; of the scales only the time of the frames."""
    for name, item in group.items():
        if isinstance(item, h5py.Group):
            yield from _growing(item, f"{path}/{name}")
        elif item.maxshape and item.maxshape[0] is None and (not item.is_scale or f"{path}/{name}" == "frames/time"):
            yield f"{path}/{name}", item


def digest(path) -> str:
    """The digest that the file says of itself."""
    import simcli

    with simcli.open(path) as run:
        return run.digest


def worlds_of(rows: dict[str, np.ndarray], worlds) -> dict[str, np.ndarray]:
    """The columns of some worlds, of datasets by frame and world; events left out."""
    skip = ("frames/time", "frames/step")
    by_world = {name: values for name, values in rows.items() if name not in skip and name[:6] not in ("events", "contac")}
    return {name: values[:, worlds] for name, values in by_world.items()}


def differing(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> list[str]:
    """Datasets whose bytes differ, or that only one has."""

    def same(x, y):
        return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()

    return sorted((a.keys() ^ b.keys()) | {name for name in a.keys() & b.keys() if not same(a[name], b[name])})
