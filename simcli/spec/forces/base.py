"""What all forces have in common: which of their words name something, and who honours them."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.values.quantities import Part, Point, Text, one_of, one_or_list_json, quantity, refuse, say

SOLVERS = frozenset(("generalized", "maximal", "natural", "affine"))


class Force(Part):
    """A force of a scene.

    Attributes:
        ENDS: its keys that are `EndSpec`.
        PER_DOF: its keys that have one number per dof of `joint`.  SPREADS: one number may stand for all of them.
        EVENTS: keys below it that events may set.
        DRIVEN: its vectors that signals may drive; in world axes, which turn with an instance, unless `frame` is body.
        SOLVERS: who honour it.  IS_SMOOTH: whether generalized_alpha does.
    """

    ENDS: ClassVar[tuple[str, ...]] = ()
    PER_DOF: ClassVar[tuple[str, ...]] = ()
    SPREADS: ClassVar[bool] = False
    EVENTS: ClassVar[tuple[tuple[str, ...], ...]] = ()
    DRIVEN: ClassVar[tuple[str, ...]] = ()
    SOLVERS: ClassVar[frozenset[str]] = SOLVERS
    IS_SMOOTH: ClassVar[bool] = True


class EndSpec(Part):
    """An end of a force between two points: `body/point`, {body: NAME, at: [..]} or {world: [..]}."""

    body: Text | None = say(None, "Body", "", "slider")
    point: Text | None = say(None, "Named point of the body", "", "p")
    at: Point | None = say(None, "Place in the body frame", "m", [0, 0, 0.1])
    world: Point | None = say(None, "Place in the world", "m", [1, 0, 0])

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


def listed(value: object) -> object:
    """A value as a sequence."""
    return value if isinstance(value, list | tuple) else (value,)


def one_or_list(*units: str, **bounds: float) -> Any:
    """A number, or one per dof; a tuple after reading."""
    schema = WithJsonSchema(one_or_list_json(*units, **bounds))
    return Annotated[tuple[quantity(*units, **bounds), ...], BeforeValidator(listed), schema]
