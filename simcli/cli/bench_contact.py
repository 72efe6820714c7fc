"""Falling humanoids and stacks of boxes beside mujoco.rollout: speed, and how well each keeps the law of contact."""

from pathlib import Path

import numpy as np

from simcli.cli import console

WATCHED = 4  # worlds whose every step is looked at for the residuals
HUMANOID = Path(__file__).resolve().parents[1] / "docs" / "humanoid.yaml"
PUSHED = ("bodies.torso.velocity={linear: [0, 0, 0]}",
          'batch.vary={"bodies.torso.velocity.linear[0]": {uniform: [-0.5, 0.5]}, '
          '"bodies.torso.velocity.linear[1]": {uniform: [-0.5, 0.5]}}')  # fmt: skip
LOOSE = ("name=humanoid_1e-5", "solver.contact.tolerance=1.0e-5")  # a thousand times the default, in m/s
STACK = """simcli: 1
name: stacks
params: {{d: 0.0}}
materials: {{m: {{density: 1000, friction: 0.5}}}}
world: {{shapes: {{ground: {{type: plane, material: m}}}}}}
bodies:
{boxes}solver: {{type: generalized, dt: 0.005}}
run: {{duration: 1.0}}
output: {{every: 0.05}}
batch: {{seed: 1, vary: {{params.d: {{uniform: [0.0, 0.02]}}}}}}
"""
BOX = ('  b{i}: {{pose: {{xyz: ["${{{sign} * d}}", 0, "${{{z} + {i} * d / 4}}"]}}, '
       "shapes: {{s: {{type: box, size: [0.2, 0.2, 0.2], material: m}}}}}}\n")  # fmt: skip


def stacks(folder: Path) -> Path:
    """Five boxes that fall on each other, a little askew and apart, every world by another distance."""
    boxes = "".join(BOX.format(i=i, sign=(-1) ** i, z=round(0.1 + 0.2 * i, 3)) for i in range(5))
    path = folder / "stacks.yaml"
    path.write_text(STACK.format(boxes=boxes))
    return path


def time_touching(work, task):
    """Rows of a scene with contact: ours and the peer's, with the residuals of both.

    Args:
        work: see bench.py.
        task: of the rows.
    """
    from simcli.analysis import peers_contact

    job = work.job()
    n_steps, dt = job.schedule.n_steps, job.schedule.dt
    ours, theirs, compiling, peer = work.take_turns(job, lambda: peers_contact.run_touching(job.model, dt, n_steps))
    mine, yours = our_natural_map(work, n_steps), None
    if theirs:
        yours = float(np.max(peers_contact.mujoco_natural_map(job.model, dt, n_steps, WATCHED)))
    yield from work.rows(job.spec.name, task, n_steps, ours, theirs, compiling, peer, None, (mine, yours))


def our_natural_map(work, n_steps: int) -> float:
    """[m/s], the largest natural map of the contacts of every step of some worlds."""
    from dataclasses import replace

    from simcli.analysis.natural_map import natural_map
    from simcli.kernels.runtime import start_device
    from simcli.solvers import SOLVERS
    from simcli.solvers.shared.plan import RunPlan
    from simcli.solvers.shared.stated import stated_contacts

    job = replace(work, worlds=min(WATCHED, work.worlds)).job()
    with console.stdout_kept_clean():
        plan = RunPlan(job.schedule.dt, 1, n_steps, frozenset(("joints",)))
        device = start_device(work.device, work.precision, 1)
        solver, worst = SOLVERS[job.spec.solver.type](job.model, job.spec.solver, plan, device), 0.0
        solver.initial()
        for _ in range(n_steps):
            solver.advance(1)
            worst = max(worst, *(natural_map(*world).max(initial=0.0) for world in stated_contacts(solver)))
    return float(worst)

