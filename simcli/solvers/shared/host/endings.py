"""What the events of worlds that end say: the reason of each, and which body and joint it names."""

from simcli.model.snapshot import Event, Status
from simcli.model.tables import Model
from simcli.model.tree.gimbals import turns_about_axes
from simcli.solvers.shared.contacts.report import crowded_text
from simcli.solvers.shared.host.plan import RunPlan
from simcli.solvers.shared.watch import FARTHEST_TURN
from simcli.spec.names.channel_names import split_name

_OF_RATES = (Status.NOT_FINITE, Status.TOO_FAST, Status.SINGULAR)  # what ends a joint two of whose axes fall together
_OF_LOCK = "; at gimbal lock? then take a ball joint, or the maximal solver"
_NOTHING = -1  # body or joint of an event that names none
RULE_CODES = {Status.NOT_FINITE: "SC601", Status.TOO_FAST: "SC602", Status.SINGULAR: "SC603", Status.STOPPED: "SC604",
              Status.TURNS_FAR: "SC608", Status.NOT_CONVERGED: "SC610", Status.CROWDED: "SC660",
              Status.LOOP_LOST: "SC625"}  # fmt: skip


def ending(model: Model, plan: RunPlan, world: int, status: Status, step: int, cause: int, room: int) -> Event:
    """The event of one world that ended.

    Args:
        model: host tables.
        plan: of the run.
        world: that ended.
        status: why.
        step: steps since the start of the run.
        cause: the dof that is the cause; the number of contacts where there are too many.
        room: contacts that there is room for.
    """
    if status == Status.CROWDED:
        body, joint, value, text = _NOTHING, _NOTHING, float(cause), crowded_text(cause, room)
    elif status == Status.STOPPED:
        body, joint = subject_of(model, plan.measures.stop)
        value, text = float(status), f"run.stop_when was met by {plan.measures.stop}"
    else:
        joint = int(model.dofs.joint[cause])
        body = int(model.joints.child[joint])
        value, text = float(status), reason(status, model.bodies.name[body], model.dofs.label[cause])
        if status in _OF_RATES and turns_about_axes(model)[joint] and cause != model.joints.qd_start[joint + 1] - 2:
            text += _OF_LOCK
    severity = 2 if status.is_failure else 0
    return Event(step, step * plan.dt, world, RULE_CODES[status], severity, body, joint, value, text)


def subject_of(model: Model, quantity: str) -> tuple[int, int]:
    """Body and joint that a quantity belongs to; NOTHING where there is none."""
    group, subject, _ = split_name(quantity)
    if group == "body":
        return model.bodies.name.index(subject), _NOTHING
    if group != "joint":
        return _NOTHING, _NOTHING
    joint = model.joints.name.index(subject)
    return int(model.joints.child[joint]), joint


def reason(status: Status, body: str, dof: str) -> str:
    """Why a world failed.

    Args:
        status: of a failure of one dof.
        body, dof: names of what is the cause.
    """
    texts = {
        Status.NOT_FINITE: f"a velocity of joint `{dof}` is not finite (body `{body}`)",
        Status.TOO_FAST: f"joint `{dof}` is faster than solver.max_velocity (body `{body}`)",
        Status.TURNS_FAR: f"body `{body}` turns by more than {FARTHEST_TURN} rad in a step: make dt smaller",
        Status.LOOP_LOST: f"unstable feedback loop: at every sample it makes body `{body}` faster; make "
                          "gains, steps or delays smaller",
        Status.NOT_CONVERGED: f"a step did not converge in solver.max_iterations iterations; body `{body}` still moved most",
    }
    return texts.get(status, f"the articulated inertia at joint `{dof}` is not positive (body `{body}`)")
