"""The device of the test process."""

_started = []


def live_device(precision="float64"):
    """The CPU with one thread, started (again) if nobody has, or if somebody has started another since.

    Commands that tests run in this process start a device too, which frees everything on the one before: keep numbers
    between tests, not kernels.
    """
    from simcli.kernels.device import runtime
    from simcli.kernels.language.backend import program

    wanted = precision, runtime.CPU_LANES[precision]  # scalar_code of conftest.py changes the latter
    is_live = bool(_started) and program() is not None and _started[1] is program()
    if not is_live or wanted != (_started[0].precision, _started[0].lanes):
        _started[:] = [runtime.start_device("cpu", precision, threads=1), None]
        _started[1] = program()
    return _started[0]
