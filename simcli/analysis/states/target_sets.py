"""Targets of inverse kinematics: which bodies and points shall be where, in words of the command line and as arrays.

    hand=0.4,0,0.3                    the origin of a body; `hand=0.4,,0.3` leaves y free
    hand=0.4,0,0.3,0,0,0,1            with its orientation, a quaternion x y z w
    hand.rpy=0,1.57,0                 the orientation alone; .quat_xyzw, .quat_wxyz
    hand/tip=..., hand@0,0,0.1=...    a named point of a body, a point in its frame

Weights count squares of distances: E = sum w |x - x_t|^2 / 2 + sum v angle^2 / 2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from simcli import rotations as rot
from simcli.analysis.states.state_tables import UNIT_LENGTH
from simcli.errors import UsageError
from simcli.model.tables.model import Array, Model
from simcli.records.reading.named import unknown
from simcli.spec.values.units import UnitError, to_si

_TURNS = ("rpy", "quat_xyzw", "quat_wxyz")
_LENGTHS = {"xyz": (3,), "rpy": (3,), "quat_xyzw": (4,), "quat_wxyz": (4,), "": (3, 7)}


@dataclass(frozen=True)
class Spot:
    """What has a target.

    Attributes:
        name: as written: a body, a named point, or `body@x,y,z`.
        body: its index.
        point: [m], (W|1, 3), body frame.
    """

    name: str
    body: int
    point: Array


def spot_of(model: Model, name: str) -> Spot:
    """What a name means.

    Raises:
        UsageError: there is no such body or point, or no three numbers behind `@`.
    """
    body, _, words = name.partition("@")
    if words:
        numbers = target_numbers(f"the point of `{name}`", words.split(","), "m")
        if len(numbers) != 3 or not np.isfinite(numbers).all():
            raise UsageError(f"`{name}`: write a point in the frame of a body as `hand@0,0,0.1`")
        return Spot(name, _body(model, body), np.array([numbers]))
    if name in model.points.name:
        k = model.points.name.index(name)
        return Spot(name, int(model.points.body[k]), model.points.position[:, k])
    return Spot(name, _body(model, name), np.zeros((1, 3)))


def _body(model: Model, name: str) -> int:
    if name not in model.bodies.name:
        raise UsageError(f"target: {unknown('body or point', name, [*model.bodies.name, *model.points.name])}")
    return model.bodies.name.index(name)


def target_numbers(what: str, words: Sequence[str], unit: str) -> list[float]:
    """Numbers of words, with units or without; NaN for what is left empty.

    Raises:
        UsageError: one is no number.
    """
    found = []
    for word in (word.strip() for word in words):
        try:
            found.append(float(word or "nan"))
        except ValueError:
            try:
                found.append(to_si(word, unit) if unit else float(word))
            except (UnitError, ValueError) as error:
                raise UsageError(f"{what}: `{word}`: {error}") from None
    return found


@dataclass
class Wanted:
    """What is wanted of one spot, state by state.

    Attributes:
        place: [m], (N, 3), world; NaN along axes that are free.
        turn: (N, 4), quaternion x y z w of the body; NaN where it is free.
        weight, turn_weight: (N,), of the squares.
    """

    place: Array
    turn: Array
    weight: Array
    turn_weight: Array

    @staticmethod
    def nothing(n: int) -> "Wanted":
        """Of n states, all free."""
        return Wanted(np.full((n, 3), np.nan), np.full((n, 4), np.nan), np.ones(n), np.ones(n))


def wanted_of(text: str) -> tuple[str, str, list[float]]:
    """Name, kind of numbers, and numbers of a `--target`; no numbers where it only names something.

    Raises:
        UsageError: it is none.
    """
    name, _, numbers = text.partition("=")
    name, kind = name.strip(), ""
    for one in (*_TURNS, "xyz"):
        if name.endswith(f".{one}"):
            name, kind = name.removesuffix(f".{one}"), one
    if not name:
        raise UsageError(f"--target {text}: write NAME=x,y,z")
    if "=" not in text:
        return name, kind, []
    unit = "rad" if kind == "rpy" else "" if kind in _TURNS else "m"
    found = target_numbers(f"--target {text}", numbers.split(","), unit)
    if len(found) not in _LENGTHS[kind]:
        wanted = "x,y,z or x,y,z and a quaternion x,y,z,w" if not kind else f"{_LENGTHS[kind][0]} numbers"
        raise UsageError(f"--target {text}: {len(found)} numbers; write {wanted}")
    if not np.isfinite(found).any():
        raise UsageError(f"--target {text}: nothing is wanted; write a number at least")
    if not np.isfinite(found[3:] if kind in ("", "xyz") else found).all():
        raise UsageError(f"--target {text}: a number of the orientation is missing; only axes of the place may be free")
    return name, kind, found


def assign(wanted: Wanted, kind: str, numbers: Array, place: str) -> None:
    """Put numbers of a kind where they belong.

    Args:
        wanted: written in place.
        kind: "" or "xyz", "rpy", "quat_xyzw", "quat_wxyz".
        numbers: (N, n).
        place: of the numbers, for messages.

    Raises:
        UsageError: a quaternion is none.
    """
    if kind in ("", "xyz"):
        wanted.place[:] = numbers[:, :3]
    if kind == "rpy":
        wanted.turn[:] = rot.quat_from_rpy(numbers)
    elif kind == "quat_wxyz":
        wanted.turn[:] = numbers[:, [1, 2, 3, 0]]
    elif kind == "quat_xyzw" or numbers.shape[1] == 7:
        wanted.turn[:] = numbers[:, -4:]
    length = np.linalg.norm(wanted.turn, axis=1)
    bad = np.flatnonzero(np.abs(length - 1.0) > UNIT_LENGTH)
    if len(bad):
        raise UsageError(f"{place}: the quaternion has length {length[bad[0]]:.6g}, not 1")


@dataclass
class TargetSet:
    """Targets of some spots, state by state.

    Attributes:
        where: they come from, for messages and files.
        time: [s], (N,), NaN where unknown.  world: (N,).  frame: (N,), row of the table.
        wanted: by name of a spot.
        is_numbered: whether the worlds were given.
    """

    where: str
    time: Array
    world: Array
    frame: Array
    wanted: dict[str, Wanted] = field(default_factory=dict)
    is_numbered: bool = False
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.world)

    def of(self, name: str) -> Wanted:
        """What is wanted of a spot, at first nothing."""
        return self.wanted.setdefault(name, Wanted.nothing(len(self)))

    def pick(self, rows: Array) -> "TargetSet":
        """Some of the states."""
        picked = {
            name: Wanted(one.place[rows], one.turn[rows], one.weight[rows], one.turn_weight[rows])
            for name, one in self.wanted.items()
        }
        states = self.time[rows], self.world[rows], self.frame[rows]
        return TargetSet(self.where, *states, picked, self.is_numbered, self.notes)

    def goals(self, model: Model, seats: Array) -> Array:
        """The numbers of `kernels.targets.Targets.goal`, (N, 14 T).

        Args:
            model: the tables.
            seats: (N,), world of the model for each state.
        """
        parts = []
        for name, wanted in self.wanted.items():
            point = np.broadcast_to(_in_worlds(spot_of(model, name).point, seats), (len(self), 3))
            seen, turned = np.isfinite(wanted.place), np.isfinite(wanted.turn).all(axis=1)
            pull = np.where(seen, np.sqrt(wanted.weight)[:, None], 0.0)
            turn = np.where(turned[:, None], wanted.turn, [0.0, 0.0, 0.0, 1.0])
            last = np.where(turned, np.sqrt(wanted.turn_weight), 0.0)[:, None]
            parts.append(np.concatenate([point, np.where(seen, wanted.place, 0.0), pull, turn, last], axis=1))
        return np.concatenate(parts, axis=1)

    def weigh(self, texts: Sequence[str]) -> None:
        """Set weights by patterns of names, `hand=2` or `toes/*=1,0`.

        Raises:
            UsageError: a pattern fits nothing, or a weight is none.
        """
        for text in texts:
            pattern, _, numbers = text.rpartition("=")
            self.weigh_by(pattern, target_numbers(f"--weight {text}", numbers.split(","), ""))

    def weigh_by(self, pattern: str, weights: Sequence[float]) -> None:
        """Set the weights of places and orientations of the targets that a pattern fits.

        Raises:
            UsageError: it fits nothing, or a weight is none.
        """
        if len(weights) not in (1, 2) or not all(0.0 <= weight < np.inf for weight in weights):
            raise UsageError(f"weight of `{pattern}`: write one, or one of places and one of orientations, from 0 on")
        names = [name for name in self.wanted if fnmatchcase(name, pattern)]
        if not names:
            raise UsageError(f"weight: {unknown('target', pattern, self.wanted)}")
        for name in names:
            self.wanted[name].weight[:] = weights[0]
            self.wanted[name].turn_weight[:] = weights[-1]


def _in_worlds(point: Array, seats: Array) -> Array:
    """A point in the worlds of states, (N|1, 3)."""
    return point[seats] if len(point) > 1 else point


def targets_of_texts(texts: Sequence[str]) -> TargetSet:
    """One set of targets, of `--target`.

    Raises:
        UsageError: one of them is none, or names something without saying where it shall be.
    """
    found = TargetSet("--target", np.full(1, np.nan), np.zeros(1, np.int64), np.zeros(1, np.int64))
    for text in texts:
        name, kind, numbers = wanted_of(text)
        if not numbers:
            raise UsageError(f"--target {text}: write NAME=x,y,z, or give the numbers with --target-table")
        assign(found.of(name), kind, np.array([numbers]), f"--target {text}")
    return found


def targets_of_arrays(targets: Mapping[str, object], world: Array | None) -> TargetSet:
    """Targets of a program: by name, as the left side of `--target`, arrays (3,), (N, 3), (7,), (N, 7), ...

    Raises:
        UsageError: an array is none, or they have different lengths.
    """
    arrays = {}
    for key, values in targets.items():
        try:
            array = np.atleast_2d(np.asarray(values, float))
        except (TypeError, ValueError):
            raise UsageError(f"ik: target `{key}`: {values!r} is no array of numbers") from None
        name, kind, _ = wanted_of(str(key))
        if array.ndim != 2 or array.shape[1] not in _LENGTHS[kind]:
            raise UsageError(f"ik: target `{key}` has shape {array.shape}; give (N, 3), with an orientation (N, 7)")
        arrays[str(key)] = (name, kind, array)
    counts = {len(array) for _, _, array in arrays.values()} - {1} | ({len(world)} if world is not None else set())
    if not arrays or len(counts) > 1:
        raise UsageError(f"ik: targets of {sorted(counts)} rows; give at least one, and all of one length")
    n = counts.pop() if counts else 1
    numbers = np.zeros(n, np.int64) if world is None else np.asarray(world, np.int64)
    found = TargetSet("ik", np.full(n, np.nan), numbers, np.arange(n), is_numbered=world is not None)
    for key, (name, kind, array) in arrays.items():
        assign(found.of(name), kind, np.broadcast_to(array, (n, array.shape[1])), f"ik: target `{key}`")
    return found
