"""The device of the test process."""

_started = []


def live_device(precision="float64"):
    """The CPU with one thread, started (again) if nobody has, or if somebody has started another since.

    Commands that tests run in this process start a device too, which frees everything on the one before: keep numbers
    between tests, not kernels.
    """
    from taichi.lang import impl

    from simcli.kernels.runtime import start_device

    program = impl.get_runtime().prog
    if not _started or program is None or _started[1] is not program or _started[0].precision != precision:
        _started[:] = [start_device("cpu", precision, threads=1), None]
        _started[1] = impl.get_runtime().prog
    return _started[0]
