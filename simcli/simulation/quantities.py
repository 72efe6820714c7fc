"""Where a quantity stands in a frame, by the one grammar of names (spec/base/channel_names.py)."""

from collections.abc import Mapping
from difflib import get_close_matches

import numpy as np

from simcli.analysis.channels import quantity_of
from simcli.analysis.worlds.measure_layouts import recorded_columns
from simcli.errors import UsageError
from simcli.job import Job
from simcli.records.contents.layout import DATASETS, OF_BODIES
from simcli.spec.base.channel_names import CHANNEL_GROUPS, SCALARS, canonical, is_on_demand, split_name

_OF_DOFS = {"q": "q_start", "qd": "qd_start", "qdd": "qd_start", "effort": "qd_start"}
_OF_BODIES = {
    "position": ("frames/body_q", slice(0, 3)),
    "orientation": ("frames/body_q", slice(3, 7)),
    "velocity": ("frames/body_qd", slice(0, 3)),
    "angular_velocity": ("frames/body_qd", slice(3, 6)),
    **{name: (one.path, slice(one.first, one.first + len(one.labels))) for name, one in OF_BODIES.items()},
}


class Places:
    """Where quantities stand in the columns of a frame.

    Args:
        job: of the simulation.
    """

    def __init__(self, job: Job):
        self._job = job
        self._known: dict[str, tuple[str, tuple]] = {}
        self._recorded = [quantity_of(label) for label, _ in recorded_columns(job.measures, job.recorded, job.model)]

    def knows(self, name: str) -> bool:
        """Whether frames hold a quantity because the scene names it."""
        return canonical(name) in self._recorded

    def find(self, name: str) -> tuple[str, tuple]:
        """The column, and the entries behind the axis of worlds.

        Raises:
            UsageError: there is no such quantity.
        """
        if name not in self._known:
            self._known[name] = self._find(canonical(name))
        return self._known[name]

    def _find(self, name: str) -> tuple[str, tuple]:
        if name in self._recorded:
            places = [k for k, one in enumerate(self._recorded) if one == name]
            whole = slice(places[0], places[-1] + 1)
            return "frames/quantity", (whole if len(places) > 1 or split_name(name).group == "joint" else places[0],)
        group, subject, quantity = split_name(name)
        if quantity in SCALARS.get(group, ()):
            return (f"energy/{quantity}" if group == "energy" else f"diag/{quantity}"), ()
        names = {
            "joint": self._job.model.joints.name,
            "body": self._job.model.bodies.name,
            "point": self._job.model.points.name,
        }.get(group, ())
        if subject not in names:
            raise self._unknown(name)
        k = names.index(subject)
        if group == "joint" and quantity in _OF_DOFS:
            start = getattr(self._job.model.joints, _OF_DOFS[quantity])
            return f"frames/joint_{quantity}", (slice(int(start[k]), int(start[k + 1])),)
        if group == "joint" and quantity == "wrench":
            return "frames/joint_wrench", (k,)
        if group == "body" and quantity in _OF_BODIES:
            path, entries = _OF_BODIES[quantity]
            return path, (k, entries)
        if group == "point" and quantity in CHANNEL_GROUPS["point"]:
            return f"frames/point/{subject}/{quantity}", ()
        raise self._unknown(name)

    def _unknown(self, name: str) -> UsageError:
        if is_on_demand(name):
            return UsageError(
                f"frames of this simulation do not hold `{name}`: name it in output.quantities, as "
                f"sets=['output.quantities=[{name}]']"
            )
        model = self._job.model
        subjects = {"joint": model.joints.name, "body": model.bodies.name, "point": model.points.name}
        known = [f"{group}.{word}" for group, words in SCALARS.items() for word in words]
        known += [
            f"{group}.{one}.{word}" for group, names in subjects.items() for one in names for word in CHANNEL_GROUPS[group]
        ]
        near = get_close_matches(name, [*known, *self._recorded], n=1)
        return UsageError(f"no quantity `{name}`" + (f": did you mean `{near[0]}`?" if near else ""))

    def take(self, columns: Mapping[str, np.ndarray], name: str) -> np.ndarray:
        """A quantity of the frame.

        Args:
            columns: of a block of one frame.
            name: of the quantity.

        Returns:
            (W, n), or (W,) of one number: a view of the frame.

        Raises:
            UsageError: there is no such quantity, or frames do not hold it.
        """
        path, entries = self.find(name)
        if path not in columns:
            row = next((row for row in DATASETS if row.path == path), None)
            channel = row.channel if row else "bodies"
            raise UsageError(
                f"frames of this simulation do not hold `{name}`: add `{channel}` to output.channels, as "
                f"sets=['output.channels=[state, {channel}]']"
            )
        return columns[path][(0, slice(None), *entries)]
