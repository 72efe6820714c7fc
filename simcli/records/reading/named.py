"""What a trajectory holds, by name: joints, bodies, points, and the quantities of a group."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from simcli.errors import UsageError
from simcli.records.contents.layout import BODY_PLACES, DATASETS
from simcli.records.contents.measures import Measure
from simcli.records.reading.series import Column

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory


class UnknownNameError(UsageError, KeyError):
    """A body, joint, point or quantity that the file does not hold."""

    def __str__(self) -> str:
        return str(self.args[0])


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that is not there, with the nearest one."""
    known = list(known)
    near = get_close_matches(str(name), known, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known[:12]) or 'none'}"
    return UnknownNameError(f"no {kind} `{name}`: {hint}")


class MeasuresByName(dict[str, Measure]):
    """Measures by name; one that is not there is refused with the nearest name."""

    def __missing__(self, name: str) -> NoReturn:
        raise unknown("measure", name, self)


class Joint:
    """One joint's history. Coordinates have shape (F, W, n), in the layout of the joint's type."""

    def __init__(self, run: "Trajectory", name: str):
        self._run, self.name = run, name
        self._index = run._index("joint", run.joints, name)

    def __repr__(self) -> str:
        return f"<joint {self.name}: {len(range(*self._span('q')))} coordinates, {self._run.n_frames} frames>"

    def _span(self, kind: str) -> tuple[int, int]:
        start = self._run.model[f"{kind}_start"]
        return int(start[self._index]), int(start[self._index + 1])

    def _coordinate(self, path: str, kind: str) -> Column:
        return self._run.column(path, slice(*self._span(kind)))

    @property
    def q(self) -> Column:
        """[rad, m], coordinates."""
        return self._coordinate("frames/joint_q", "q")

    @property
    def qd(self) -> Column:
        """[rad/s, m/s], velocities."""
        return self._coordinate("frames/joint_qd", "qd")

    @property
    def qdd(self) -> Column:
        """[rad/s^2, m/s^2], accelerations."""
        return self._coordinate("frames/joint_qdd", "qd")

    @property
    def effort(self) -> Column:
        """[N m, N], all that acts along the motion axes; see `drive_effort`."""
        return self._coordinate("frames/joint_effort", "qd")

    @property
    def drive_effort(self) -> Column:
        """[N m, N], what the drive or the motion gives, along the motion axes.

        Raises:
            UsageError: the file has none of this joint.
        """
        own = f"joint.{self.name}.drive_effort"
        places = [k for k, label in enumerate(self._run.quantities) if label == own or label.startswith(f"{own}.")]
        if not places:
            raise UsageError(
                f"{self._run.path} holds no drive_effort of joint `{self.name}`: the joint has no drive and no "
                "motion, or `output.quantities` of the scene leaves it out"
            )
        return self._run.column("frames/quantity", slice(places[0], places[-1] + 1))

    @property
    def wrench(self) -> Column:
        """[N, N m], (F, W, 6), force and torque on the child at the child anchor, world."""
        return self._run.column("frames/joint_wrench", self._index)


class Body:
    """One body's history: what `layout.BODY_PLACES` names, and what follows.

    Attributes:
        position: [m], (F, W, 3), origin of the body frame, world.
        orientation: [1], (F, W, 4), quaternion x y z w, world.
        velocity: [m/s], (F, W, 3), of the centre of mass, world.
        angular_velocity: [rad/s], (F, W, 3), world.
    """

    def __init__(self, run: "Trajectory", name: str):
        self._run, self.name = run, name
        self._index = run._index("body", run.bodies, name)

    def __repr__(self) -> str:
        return f"<body {self.name}: {self._run.n_frames} frames>"

    @property
    def pose(self) -> Column:
        """[m, 1], (F, W, 7), px py pz qx qy qz qw of the body frame, world."""
        return self._run.column("frames/body_q", self._index)

    @property
    def natural_q(self) -> Column:
        """[m], (F, W, n), natural coordinates: points, then vectors, world; of a run of the natural solver."""
        labels = self._run.naturals
        own = [k for k, label in enumerate(labels) if label.startswith(f"{self.name}:")]
        return self._run.column("frames/natural_q", slice(own[0], own[-1] + 1) if own else slice(0, 0))

    def __getattr__(self, name: str) -> Column:
        """What frames hold of bodies, (F, W, n)."""
        if name not in BODY_PLACES:
            raise AttributeError(str(unknown("quantity of a body", name, dir(self))))
        path, entries = BODY_PLACES[name]
        return self._run.column(path, self._index, entries)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *BODY_PLACES]


class NamedPoint:
    """One named point's history."""

    def __init__(self, run: "Trajectory", name: str):
        self._run, self.name = run, name
        run._index("point", run.points, name)

    def __repr__(self) -> str:
        return f"<point {self.name}: {self._run.n_frames} frames>"

    @property
    def position(self) -> Column:
        """[m], (F, W, 3), world."""
        return self._run.column(f"frames/point/{self.name}/position")

    @property
    def velocity(self) -> Column:
        """[m/s], (F, W, 3), world."""
        return self._run.column(f"frames/point/{self.name}/velocity")


class Quantities:
    """The (F, W) columns of one group by attribute: `run.energy.total`, `run.diag.status`."""

    def __init__(self, run: "Trajectory", group: str):
        self._run, self._group = run, group
        self._names = [row.path.split("/")[1] for row in DATASETS if row.path.startswith(f"{group}/")]

    def __dir__(self) -> list[str]:
        return self._names

    def __repr__(self) -> str:
        return f"<{self._group}: {', '.join(self._names)}>"

    def __getattr__(self, name: str) -> Column:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._names:
            raise AttributeError(str(unknown(f"quantity in {self._group}", name, self._names)))
        return self._run.column(f"{self._group}/{name}")

    def __getitem__(self, name: str) -> Column:
        if name not in self._names:
            raise unknown(f"quantity in {self._group}", name, self._names)
        return self._run.column(f"{self._group}/{name}")
