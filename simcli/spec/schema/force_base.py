"""What forces have in common: which of their words name something, who supports them, and lines through points."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    AtLeastZero,
    Direction,
    Length,
    Plain,
    Point,
    PositiveLength,
    Speed,
    Tension,
    Text,
    Truth,
    count,
    doc,
    fixed_list,
    one_of,
    one_or_list_json,
    quantity,
    refuse,
)
from simcli.spec.values.spec_model import SpecModel

SOLVER_TYPES = frozenset(("generalized", "maximal", "natural", "affine"))


class ForceBase(SpecModel):
    """A force of a scene.

    Attributes:
        ENDS: its keys that are `EndSpec`, or lists of them.  TERMS: those that are lists of `TermSpec`.
        PER_DOF: its keys that have one number per dof of `joint`.  SPREADS: one number may stand for all of them.
        EVENTS: keys below it that events may set.
        DRIVEN: its vectors that signals may drive; in world axes, which turn with an instance, unless `frame` is body.
        IN_WORLD: its other vectors in world axes.
        SOLVERS: who support it; affine bodies take a force on links by code of its own.
        IS_SMOOTH: whether generalized_alpha supports it, likewise by code of its own.
    """

    ENDS: ClassVar[tuple[str, ...]] = ()
    TERMS: ClassVar[tuple[str, ...]] = ()
    PER_DOF: ClassVar[tuple[str, ...]] = ()
    SPREADS: ClassVar[bool] = False
    EVENTS: ClassVar[tuple[tuple[str, ...], ...]] = ()
    DRIVEN: ClassVar[tuple[str, ...]] = ()
    IN_WORLD: ClassVar[tuple[str, ...]] = ()
    SOLVERS: ClassVar[frozenset[str]] = SOLVER_TYPES - {"affine"}
    IS_SMOOTH: ClassVar[bool] = False

    @classmethod
    def type_name(cls) -> str:
        """Its `type` in scenes."""
        return get_args(cls.model_fields["type"].annotation)[0]

    @classmethod
    def acts_on_links(cls) -> bool:
        """Whether it acts on bodies, and not along coordinates alone."""
        return bool(cls.ENDS) or not (cls.PER_DOF or cls.TERMS)

    def ends(self) -> Iterator[tuple[str, "EndSpec"]]:
        """Its ends, each with the path below the force."""
        for key in self.ENDS:
            value = getattr(self, key)
            yield from ((f"{key}[{n}]", end) for n, end in enumerate(value)) if isinstance(value, tuple) else ((key, value),)


class EndSpec(SpecModel):
    """An end of a force between two points: `body/point`, {body: NAME, at: [..]} or {world: [..]}."""

    body: Text | None = doc(None, "Body", "", "slider")
    point: Text | None = doc(None, "Named point of the body", "", "p")
    at: Point | None = doc(None, "Place in the body frame", "m", [0, 0, 0.1])
    world: Point | None = doc(None, "Place in the world", "m", [1, 0, 0])

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        body, slash, point = value.rpartition("/")
        if not slash:
            raise refuse(
                "SC204",
                f"`{value}` names no point",
                f"write `{value}/POINT`, {{body: {value}, at: [0, 0, 0]}} or {{world: [..]}}",
            )
        return {"body": body, "point": point}

    @model_validator(mode="after")
    def _one(self) -> "EndSpec":
        one_of(self, ("body", "world"))
        if self.body is not None:
            one_of(self, ("point", "at"))
        elif self.point is not None or self.at is not None:
            raise refuse("SC207", "a place in the world has no `point` or `at`", "write {world: [x, y, z]}", "world")
        return self


class WrapCylinderSpec(SpecModel):
    """A cylinder that a rope runs around; it has no ends."""

    radius: PositiveLength = doc(REQUIRED, "Radius", "m", 0.1)
    axis: Direction = doc(
        REQUIRED, "Direction of its axis, in the frame of the body, of the world without one", "", [0, 1, 0]
    )


class WrapSphereSpec(SpecModel):
    """A sphere that a rope runs around."""

    radius: PositiveLength = doc(REQUIRED, "Radius", "m", 0.1)


class SideSpec(EndSpec):
    """A point on the side on which a rope passes; [x, y, z] for short, in the frame of the body that it runs around."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return {"at": value}
        if not isinstance(value, str):
            return value
        body, slash, point = value.rpartition("/")
        if not slash:
            raise refuse("SC204", f"`{value}` names no point", f"write `{value}/POINT`, {{world: [..]}} or [x, y, z]")
        return {"body": body, "point": point}

    @property
    def is_own(self) -> bool:
        """Whether it is a place in the frame of the body that the rope runs around, or of the world with it."""
        return self.body is None and self.world is None

    @model_validator(mode="after")
    def _one(self) -> "SideSpec":
        if self.body is None and (self.world is None) == (self.at is None):
            raise refuse("SC202", "a side is one place", "write [x, y, z], {world: [..]} or {body: NAME, at: [..]}")
        if self.body is not None:
            one_of(self, ("body", "world"))
            one_of(self, ("point", "at"))
        return self


_OF_SIZES = ("side", "inside", "friction", "slip_speed")


class RopeStopSpec(EndSpec):
    """A point that a rope runs over, as an end of it; or, with a size, a cylinder or a sphere about this point."""

    cylinder: WrapCylinderSpec | None = doc(
        None, "The rope runs around a cylinder about this point", "", "{radius: 0.1, axis: [0, 1, 0]}"
    )
    sphere: WrapSphereSpec | None = doc(None, "The rope runs around a sphere about this point", "", "{radius: 0.1}")
    side: SideSpec | None = doc(
        None,
        "A point outside of it, on the side on which the rope passes: in the frame of the body, or as an end; where the "
        "body turns against the rope, of another one. Default: the shorter way",
        "",
        "{world: [0, 0, 2.2]}",
    )
    inside: Truth = doc(False, "True: it runs through it, as through a ring, without friction", "", True)
    friction: quantity("", ge=0) = doc(0.0, "Coefficient of dry friction of the rope on it (Euler, Eytelwein)", "", 0.3)
    slip_speed: quantity("m/s", gt=0) = doc(
        0.01,
        "Speed of the rope against it that tells sticking from slipping: friction is that of tanh(speed / this)",
        "m/s",
        0.01,
    )

    @property
    def size(self) -> "WrapCylinderSpec | WrapSphereSpec | None":
        """What the rope runs around; None: the point."""
        return self.cylinder or self.sphere

    @model_validator(mode="after")
    def _around(self) -> "RopeStopSpec":
        one_of(self, ("cylinder", "sphere"), required=False)
        for key in _OF_SIZES if self.size is None else ():
            if key in self.model_fields_set:
                raise refuse("SC207", f"a point has no `{key}`", "give it a `cylinder` or a `sphere`", key)
        for key in ("side", "friction", "slip_speed") if self.inside else ():
            if key in self.model_fields_set:
                raise refuse("SC207", f"a rope that runs through a ring has no `{key}`", "remove it, or `inside`", key)
        return self


class TermSpec(SpecModel):
    """A coordinate q of a joint, times a factor, or a polynomial of it."""

    joint: Text = doc(REQUIRED, "Joint", "", "elbow")
    dof: count(ge=0) = doc(0, "Which of its dofs, from 0 on", "", 1)
    factor: AnyNumber = doc(1.0, "Factor", "1, m/rad or rad/m", 0.02)
    polynomial: tuple[Plain, ...] | None = doc(
        None, "Instead: [a0, a1, a2, ..] of a0 + a1 q + a2 q^2 + .., q in rad or m", "", [0, 0.02, 0.004], min_length=2
    )

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Of the powers of q, from the zeroth on; two at least."""
        return (0.0, self.factor) if self.polynomial is None else self.polynomial

    @model_validator(mode="after")
    def _one(self) -> "TermSpec":
        if self.polynomial is not None and "factor" in self.model_fields_set:
            raise refuse(
                "SC207",
                "`polynomial` and `factor` contradict each other",
                "keep `polynomial`, which begins with [constant, factor, ..]",
                "factor",
            )
        return self


def kinds_of_terms(joints: Mapping, terms: Iterable[TermSpec]) -> str:
    """Kinds of the coordinates of a sum, each once: "A" angular, "L" linear; of those that are there.

    Args:
        joints: of the scene, by name.
        terms: of the sum.
    """
    known = [(joints[term.joint].dof_kinds, term.dof) for term in terms if term.joint in joints]
    return "".join(sorted({kinds[dof] for kinds, dof in known if dof < len(kinds)}))


def listed_forces(value: object) -> object:
    """A value as a sequence."""
    return value if isinstance(value, list | tuple) else (value,)


def one_or_list(*units: str, **bounds: float) -> Any:
    """A number, or one per dof; a tuple after reading."""
    schema = WithJsonSchema(one_or_list_json(*units, **bounds))
    return Annotated[tuple[quantity(*units, **bounds), ...], BeforeValidator(listed_forces), schema]


def _thrice(value: object) -> object:
    return fixed_list(3, "numbers")(value if isinstance(value, list | tuple) else [value] * 3)


def one_or_three(unit: str) -> Any:
    """One number for all axes, or one for each; three after reading."""
    number = quantity(unit, ge=0)
    return Annotated[tuple[number, number, number], BeforeValidator(_thrice), WithJsonSchema(one_or_list_json(unit, ge=0))]


def refuse_no_line(key: str, of: Sequence[float], word: str, values: Sequence[float]) -> None:
    """Refuse points that make no line over a key: as many values as places, which rise."""
    if len(of) != len(values):
        message = f"{len(values)} values of `{word}` for {len(of)} of `{key}`"
        raise refuse("SC205", message, "write as many of both", word)
    if any(b <= a for a, b in pairwise(of)):
        raise refuse("SC232", f"the values of `{key}` do not rise", "sort them", key)


class _ForceTable(SpecModel):
    """A force over a quantity x, as points of a line of straight pieces; beyond its ends the outer pieces go on."""

    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The values of x, and the forces."""
        of, force = (getattr(self, name) for name in type(self).model_fields)
        return of, force

    @model_validator(mode="after")
    def _is_line(self) -> "_ForceTable":
        refuse_no_line(next(iter(type(self).model_fields)), self.points()[0], "force", self.points()[1])
        return self


class ElongationTable(_ForceTable):
    """Tension over elongation, the length less the rest length."""

    elongation: tuple[Length, ...] = doc(REQUIRED, "Elongations, rising", "m", [-0.1, 0, 0.1], min_length=2)
    force: tuple[Tension, ...] = doc(REQUIRED, "Tension at each, negative where it pushes", "N", [-400, 0, 50], min_length=2)


class RateTable(_ForceTable):
    """Tension over the rate of the length, against it at any rate."""

    rate: tuple[Speed, ...] = doc(REQUIRED, "Rates, rising", "m/s", [-1, 0, 1], min_length=2)
    force: tuple[Tension, ...] = doc(REQUIRED, "Tension at each, of the sign of the rate", "N", [-300, 0, 100], min_length=2)

    @model_validator(mode="after")
    def _takes(self) -> "RateTable":
        if not damps(self.rate, self.force):
            message = "this damper would put energy in: its tension has not the sign of the rate everywhere"
            raise refuse(
                "SC361", message, "let the line pass through rate 0, force 0, and fall nowhere to the other sign", "force"
            )
        return self


def damps(rate: Sequence[float], force: Sequence[float]) -> bool:
    """Whether a line through these points, gone on beyond its ends, gives a force times rate that is nowhere negative."""
    points = list(zip(rate, force, strict=True))
    pieces = [(x, a, (b - a) / (y - x)) for (x, a), (y, b) in pairwise(points)]
    x, a, slope = next((piece for piece in reversed(pieces) if piece[0] <= 0.0), pieces[0])
    passes = abs(a - slope * x) <= _ROUNDED * max(map(abs, force))
    return passes and all(v * f >= 0.0 for v, f in points) and pieces[0][2] >= 0.0 and pieces[-1][2] >= 0.0


_ROUNDED = 1e-12  # of the largest force of a table: the force of a damper at rest


class EffortCurve(SpecModel):
    """Largest effort of a drive by the speed along it: straight between points, held beyond the ends.

    At the rate v an effort is at most E(v), and at least -E(-v): speeds above 0 are those of a motor that drives, those
    below 0 of one that brakes.
    """

    speed: tuple[AnyNumber, ...] = doc(REQUIRED, "Speeds, rising", "rad/s or m/s", [0, 100, 200], min_length=2)
    effort: tuple[AtLeastZero, ...] = doc(REQUIRED, "Largest effort at each", "N*m or N", [5, 5, 0], min_length=2)

    @model_validator(mode="after")
    def _is_line(self) -> "EffortCurve":
        refuse_no_line("speed", self.speed, "effort", self.effort)
        return self
