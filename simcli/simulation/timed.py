"""What of a scene depends on time, which all worlds have in common."""

from simcli.job import Job
from simcli.model.signals.tables import Op, SignalKind


def timed_part(job: Job) -> str:
    """Something of a scene that depends on time, in words; "" if nothing does.

    Args:
        job: of the scene, its model as the scene makes it.
    """
    model = job.model
    laws, is_read = model.feedback, model.feedback.op == Op.SIGNAL
    for k in {*model.inputs.signal.tolist(), *laws.index[is_read].tolist()}:
        if model.signals.kind[k] not in (SignalKind.CONSTANT, SignalKind.FEEDBACK):
            return f"signal `{model.signals.name[k]}`"
    if (laws.every != 1).any() or (laws.op == Op.TIME).any():
        return "feedback that is sampled, or names t,"
    if laws.n_states:
        return "feedback with states (PID, filter, delay)"
    if job.phases:
        return "an event of the scene"
    return "a measure" if job.measures.names else ""
