"""The device of the test process."""

_started = []


def live_device(precision="float64"):
    """The CPU with one thread, started (again) if nobody has, or if somebody has started another since.

    Commands that tests run in this process start a device too, which frees everything on the one before: keep numbers
    between tests, not kernels.
    """
    from taichi.lang import impl

    from simcli.kernels import runtime

    program = impl.get_runtime().prog
    wanted = precision, runtime.CPU_LANES[precision]  # scalar_code of conftest.py changes the latter
    if not _started or program is None or _started[1] is not program or wanted != (_started[0].precision, _started[0].lanes):
        _started[:] = [runtime.start_device("cpu", precision, threads=1), None]
        _started[1] = impl.get_runtime().prog
    return _started[0]
