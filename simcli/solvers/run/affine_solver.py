"""The affine solver: bodies of twelve numbers, rigidity and joints as energies (affine/programs.py)."""

from functools import partial

import numpy as np

from simcli.model.forms.affine_inputs import affine_form
from simcli.model.snapshot import Event
from simcli.model.tables.model import Model
from simcli.solvers.affine.barrier import (
    begin_affine,
    deviation_event,
    end_caught,
    find_affine_cause,
    find_overlapping,
    judge_affine,
)
from simcli.solvers.affine.memory import AffineCore
from simcli.solvers.affine.report import close_affine, finding_affine, open_affine, report_affine_drives, report_frame
from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.output.loop_guard import exchange_affine_momenta
from simcli.solvers.run.engine import Engine
from simcli.solvers.run.single_bodies import SingleBodySolver

WORTH_A_WORD = 0.01  # part of a spin that bdf1 may take in a run before it is said


def warn_of_decay(model: Model, options, plan: RunPlan) -> list[Event]:
    """The event of the body whose spin bdf1 damps most until the run ends, if that is worth a word.

        dw/dt = - w^3 h,    w(T) = w / sqrt(1 + 2 w^2 h T)

    Args:
        model: in natural form.
        options, plan: of the run.

    Derived from its formula for a body that turns about a fixed axis.
    """
    if options.integrator != "bdf1":
        return []
    numbers = [
        x[:, -12 * model.n_bodies :].reshape(len(x), model.n_bodies, 4, 3)[:, :, 1:] for x in (model.joint_q, model.joint_qd)
    ]
    spin = 0.5 * np.linalg.norm(np.cross(*np.broadcast_arrays(*numbers)).sum(axis=2), axis=-1)
    spin = spin * ~model.bodies.kinematic
    loss = 1.0 - 1.0 / np.sqrt(1.0 + 2.0 * spin**2 * plan.dt * plan.dt * plan.n_steps)
    world, body = np.unravel_index(loss.argmax(), loss.shape)
    worst = float(loss[world, body])
    if worst < WORTH_A_WORD:
        return []
    name, rate = model.bodies.name[body], spin[world, body]
    text = f"bdf1 will damp {100 * worst:.2g} % of the {rate:.3g} rad/s of body `{name}` in this run"
    return [Event(0, 0.0, int(world), "SC611", 1, int(body), -1, worst, text)]


def notes(model: Model, options, plan: RunPlan) -> list[Event]:
    """What is said at the start."""
    return warn_of_decay(model, options, plan) + deviation_event(model, options)


ENGINE = Engine(
    AffineCore,
    begin_affine,
    report_frame,
    report_affine_drives,
    judge_affine,
    find_affine_cause,
    close_affine,
    open_affine,
    finding_affine,
    exchange_affine_momenta,
    notes,
    find_overlapping,
    end_caught,
)
AffineSolver = partial(SingleBodySolver, affine_form, engine=ENGINE)
