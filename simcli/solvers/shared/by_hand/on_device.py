"""Quantities of a frame where they are in the memory of a GPU."""

from simcli.errors import UsageError
from simcli.kernels.device.dlpack import DeviceView
from simcli.solvers.shared.energy_balance import ENERGY

_WIDTHS = {"body_q": 7, "body_qd": 6, "joint_wrench": 6}  # numbers of one body or joint
_ALONE = ("joint_q", "joint_qd", "joint_qdd", "joint_effort", "quantity")
_POINT, _PARTS = 6, {"position": 0, "velocity": 3}


def view_of(stepper, buffers: dict, path: str, entries: tuple) -> DeviceView:
    """A quantity of the frame that buffers hold.

    Args:
        stepper: whose they are.
        buffers: of one frame, by name, with their numbers of columns.
        path: of a column of frames.
        entries: behind the axis of worlds.

    Raises:
        UsageError: frames do not hold it on the device.
        DeviceError: the device has no arrays for other libraries.
    """
    found = _place_of(stepper.model.points.name, path, entries)
    if found is None or found[0] not in buffers or not buffers[found[0]][1]:
        raise UsageError(f"`{path}` has no array on the device: leave dlpack out, or see output.channels")
    name, first, n = found
    buffer, width = buffers[name]
    worlds = stepper.model.n_worlds
    shape, strides = ((worlds,), (width,)) if n is None else ((worlds, n), (width, 1))
    return DeviceView(buffer, stepper.device.dtype, stepper.device.arch, first, shape, strides)


def _place_of(points: tuple[str, ...], path: str, entries: tuple) -> tuple[str, int, int | None] | None:
    """Buffer, first column, and number of columns, None for a number alone."""
    group, _, name = path.partition("/")
    if group == "energy":
        return "energy", ENERGY.index(name), None
    if name.startswith("point/"):
        point, _, part = name.removeprefix("point/").rpartition("/")
        return "points", _POINT * points.index(point) + _PARTS[part], 3
    if group != "frames" or name not in (*_WIDTHS, *_ALONE):
        return None
    item, span = (0, entries[0]) if name in _ALONE else (entries[0], entries[1] if len(entries) > 1 else slice(0, 6))
    first = item * _WIDTHS.get(name, 0)
    return (name, first + span.start, span.stop - span.start) if isinstance(span, slice) else (name, span, None)
