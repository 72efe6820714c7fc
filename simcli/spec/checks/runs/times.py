"""Times of a run: whole multiples of the step."""

from simcli.spec.checks.checker import Checker

_MULTIPLE = 1e-9  # relative distance to a whole multiple that is rounding in the file
MAX_STEPS = 10**12
MOST_APART = 10**9  # steps between two samples, which are counted in 32 bits


def is_whole_multiple(value: float, dt: float) -> bool:
    """Whether a time is a whole multiple of another one, up to rounding in the file, and at least that one."""
    steps = value / dt
    return round(steps) >= 1 and abs(steps - round(steps)) <= _MULTIPLE * max(1.0, steps)


def is_sampled(check: Checker, rate: float, path: str) -> bool:
    """Whether samples of a rate come within steps that can be counted; a fault if not."""
    least = 1.0 / (check.spec.solver.dt * MOST_APART)
    if rate >= least:
        return True
    message = f"at a rate of {rate:.6g} Hz two samples are more than {MOST_APART:g} steps apart"
    check.fault("SC231", message, path, f"at least {least:.6g} Hz")
    return False


def check_times(check: Checker) -> None:
    """`duration` and `every` are whole multiples of dt."""
    dt = check.spec.solver.dt
    for path, value in (("run.duration", check.spec.run.duration), ("output.every", check.spec.output.every)):
        if value is None or ("solver", "") in check.broken or (path.split(".")[0], "") in check.broken:
            continue
        steps = value / dt
        if steps > MAX_STEPS:
            check.fault("SC418", f"`{path}` takes {steps:.3g} steps of {dt:g} s", path, "shorten it, or enlarge solver.dt")
        elif not is_whole_multiple(value, dt):
            nearest = max(1, round(steps)) * dt
            message = f"`{path}` of {value:.12g} s is not a whole multiple of dt = {dt:.12g} s"
            check.fault("SC407", message, path if check.has(path) else "solver.dt", f"the nearest is {nearest:.12g}")
