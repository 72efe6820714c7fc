"""Times."""

from simcli.spec.checks.checker import Checker

_MULTIPLE = 1e-9  # relative distance to a whole multiple that is rounding in the file
MAX_STEPS = 10**12


def is_whole_multiple(value: float, dt: float) -> bool:
    """Whether a time is a whole multiple of another one, up to rounding in the file, and at least that one."""
    steps = value / dt
    return round(steps) >= 1 and abs(steps - round(steps)) <= _MULTIPLE * max(1.0, steps)


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
