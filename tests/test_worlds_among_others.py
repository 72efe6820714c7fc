"""World k has the same bytes whatever its neighbours are: other worlds of its pack, in other lanes, that fail, or none.

Every integrator, with what a scene can hold that branches: terrain, meshes, rolling, bounces, limits, dry friction, drives
with effort limits, a loop, feedback. Neighbours differ in what they start with, and in what they have at all.
"""

import numpy as np
import pytest
from support.device import live_device

from simcli.pipeline import Request, prepare
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.affine.programs import STEPS
from simcli.solvers.tree.integrators import STAGES

pytestmark = pytest.mark.usefixtures("packs_of_two")
TOUCHING = """
simcli: 1
params: {u: 0.7, e: 0.1, roll: 0.0}
materials: {m: {density: 800, friction: 0.5, restitution: "${e}", rolling_friction: "${roll}"}}
world:
  shapes:
    land: {type: heightfield, size: [4, 4, 0.4], material: m,
           data: [[0, 0.2, 0.1, 0.4], [0.3, 0.5, 0.2, 0.1], [0.1, 0.2, 0.7, 0.3], [0, 0.1, 0.2, 0.3]]}
bodies:
  stone: {pose: {xyz: [0.1, 0.1, 0.5]}, velocity: {linear: ["${u}", 0.2, -1]},
          shapes: {s: {type: mesh, file: tet.obj, material: m}}}
  ball: {pose: {xyz: [-0.7, 0.6, 0.47]}, velocity: {linear: ["${u}", 0, -1]},
         shapes: {s: {type: sphere, radius: 0.1, material: m}}}
  box: {pose: {xyz: [0.7, -0.6, 0.5]}, velocity: {linear: [0, "${u}", -1]},
        shapes: {s: {type: box, size: [0.2, 0.2, 0.2], material: m}}}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 2 ms, precision: PRECISION}
run: {duration: 0.3}
output: {every: 0.01, channels: [state, contacts, energy]}
"""
TET = "v 0 0 0.2\nv 0.2 0 -0.1\nv -0.1 0.17 -0.1\nv -0.1 -0.17 -0.1\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n"
SWUNG = """
simcli: 1
params: {u: 0.7, e: 0.1, roll: 0.0}
defaults: {body: {inertia: {diag: [0.01, 0.02, 0.015]}, mass: 1}, joint: {type: revolute, axis: [0, 1, 0]}}
bodies:
  crank: {pose: {xyz: [0.1, 0, 0]}}
  rod: {pose: {xyz: [0.4, 0, 0]}}
  slider: {pose: {xyz: [0.6, 0, 0]}}
  arm: {com: [0.5, 0, 0]}
joints:
  pin: {parent: world, child: crank, at: [0, 0, 0], qd: "${4 + 2 * u}", drive: {mode: effort, target: $u}}
  knee: {parent: crank, child: rod, at: [0.2, 0, 0], damping: "${e}"}
  wrist: {parent: rod, child: slider, at: [0.6, 0, 0]}
  rail: {type: prismatic, parent: world, child: slider, at: [0.6, 0, 0], axis: [1, 0, 0], loop: true}
  hinge: {parent: world, child: arm, at: [0, 5, 3], q: "${0.05 * e}", qd: "${-u}"LAWS}
sensors: {e: {type: tachometer, joint: pin}}
signals: {u: {expression: "-0.5*({sensor.e.tachometer} - 6) + {joint.rail.q}"}}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 2 ms, precision: PRECISION}
run: {duration: 0.3}
output: {every: 0.01, channels: [state, energy]}
"""
LAWS = (', limit: [-0.35, 1], friction: "${roll}", drive: {mode: position, target: 0.5, stiffness: 5, damping: 1, '
        "effort_limit: 2}")
SMOOTH = ', drive: {mode: position, target: 0.5, stiffness: 5, damping: "${roll}"}'
NAMES = "u", "e", "roll"
# Of worlds: first those that are looked at, then all kinds of neighbours, of which the last one fails. A world that
# lacks what its neighbours have differs in roundings: without a damper a mechanism has fewer equations.
SEEN = [(0.7, 0.2, 0.004), (0.1, 0.6, 0.01)]
OTHERS = [(1.2, 0.0, 0.0), (0.3, 0.3, 0.0), (1.9, 0.0, 0.02), (-0.8, 0.9, 0.001), (0.71, 0.0, 0.0), (1e7, 0.0, 0.0)]
BATCHES = [SEEN[:1], SEEN[1:], [*SEEN, *OTHERS[:3]], [OTHERS[4], SEEN[0], OTHERS[5], OTHERS[3], OTHERS[1], *SEEN[::-1]]]
CASES = {
    **{f"touching-generalized-{name}": (TOUCHING, "generalized", name) for name in STAGES},
    "touching-maximal-semi_implicit": (TOUCHING, "maximal", "semi_implicit"),
    "touching-natural-moreau": (TOUCHING, "natural", "moreau"),
    **{f"touching-affine-{name}": (TOUCHING, "affine", name) for name in STEPS},
    **{f"swung-generalized-{name}": (SWUNG.replace("LAWS", LAWS), "generalized", name) for name in STAGES},
    "swung-maximal-semi_implicit": (SWUNG.replace("LAWS", LAWS), "maximal", "semi_implicit"),
    "swung-natural-moreau": (SWUNG.replace("LAWS", LAWS), "natural", "moreau"),
    "swung-natural-zhong06": (SWUNG.replace("LAWS", LAWS), "natural", "zhong06"),
    "smooth-natural-zhong06": (SWUNG.replace("LAWS", SMOOTH), "natural", "zhong06"),
    "smooth-natural-generalized_alpha": (SWUNG.replace("LAWS", SMOOTH), "natural", "generalized_alpha"),
    **{f"swung-affine-{name}": (SWUNG.replace("LAWS", LAWS), "affine", name) for name in STEPS},
}


def columns_of(folder, text, worlds, precision):
    """All columns of a run of some worlds."""
    path = folder / "scene.yaml"
    lists = ", ".join(f"params.{name}: {{list: {[world[k] for world in worlds]}}}" for k, name in enumerate(NAMES))
    path.write_text(f"{text}batch: {{vary: {{{lists}}}}}\n")
    (folder / "tet.obj").write_text(TET)
    job = prepare(Request(path, tries_all=True))
    plan = RunPlan(job.schedule.dt, job.schedule.steps_per_frame, job.schedule.n_frames, job.channels)
    solver = SOLVERS[job.spec.solver.type](job.model, job.spec.solver, plan, live_device(precision), job.phases)
    blocks = [solver.initial()]
    while sum(len(block.step) for block in blocks) <= plan.n_frames:
        blocks.append(solver.advance(plan.n_frames))
    return {name: np.concatenate([block.columns[name] for block in blocks]) for name in blocks[0].columns}


# In the default run: what worlds remember of contacts that are off, and feedback in float32.
DEFAULT = {("touching-natural-moreau", "float64"), ("smooth-natural-generalized_alpha", "float32")}


@pytest.mark.parametrize(("case", "precision"), [
    pytest.param(case, precision, marks=[pytest.mark.slow] * ((case, precision) not in DEFAULT))
    for case in CASES for precision in ("float64", "float32")])  # fmt: skip
def test_a_world_does_not_see_its_neighbours(case, precision, tmp_path):
    text, solver, integrator = CASES[case]
    for word, value in (("SOLVER", solver), ("INTEGRATOR", integrator), ("PRECISION", precision)):
        text = text.replace(word, value)
    found = [columns_of(tmp_path, text, worlds, precision) for worlds in BATCHES]
    for world in SEEN:
        first, *others = [{name: np.ascontiguousarray(column[:, worlds.index(world)]) for name, column in columns.items()}
                          for worlds, columns in zip(BATCHES, found, strict=True) if world in worlds]
        assert not first["diag/status"].any()
        for other in others:
            differing = [name for name, column in first.items() if column.tobytes() != other[name].tobytes()]
            assert not differing, world
