"""Prescribed motions whose rate jumps in the midst of a run: what moves with them gets an impulse.

The impulse is that of the mass matrix in steps of first order, and in natural, maximal and affine coordinates. The nodes of
`rk4` and `implicit` see accelerations alone, which a jump of a rate has none of.
"""

from collections.abc import Iterator

from simcli.spec.checks.checker import Checker
from simcli.spec.checks.mechanism.motions import Prescription, jumps_in_file, prescriptions, slope_jumps, value_jumps
from simcli.spec.honours.joint_fields import refuse_field
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.quantities import is_signal

BLIND = ("rk4", "implicit")  # integrators of the generalized solver that pass no impulse on


def sudden_motions(spec: SceneSpec) -> Iterator[tuple[str, str]]:
    """Prescribed motions whose rate jumps while the scene runs: path of the number, and in words."""
    found = list(prescriptions(spec))
    for one in found:
        signal = one.signal(spec)
        if signal is None:
            continue
        jumps = slope_jumps(signal) if one.is_position else value_jumps(signal)
        times = [t for t in jumps if 0.0 < t < spec.run.duration]
        if times:
            yield one.path, f"the rate of the motion of {one.words} jumps at {min(times):g} s"
        elif jumps_in_file(signal, one.is_position):
            yield one.path, f"the rate of the motion of {one.words} jumps at the times of its table"
    yield from _by_events(spec, found)


def check_sudden_motions(check: Checker) -> None:
    """Refuse prescribed motions whose impulses the chosen integrator would leave out."""
    spec = check.spec
    integrator = getattr(spec.solver, "integrator", "")
    if spec.solver.type != "generalized" or integrator not in BLIND:
        return
    for path, words in sudden_motions(spec):
        hint = "take semi_implicit or auto, or a table with `interpolate: cubic`"
        refuse_field(check, f"with {integrator} that {words}", path, hint)


def _by_events(spec: SceneSpec, motions: list[Prescription]) -> Iterator[tuple[str, str]]:
    """Events that set a motion, or a signal that leads one."""
    leaders = {str(one.number).removeprefix("$") for one in motions if is_signal(one.number)}
    for event in spec.events:
        for path in event.set:
            keys = path.replace("[", ".").split(".")
            leads = keys[0] == "signals" and keys[1:2] and keys[1] in leaders
            if leads or ("motion" in keys[2:] and "position" not in keys):
                yield "events", f"an event sets `{path}`, at which a rate jumps"
