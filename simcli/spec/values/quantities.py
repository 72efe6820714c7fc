"""Field types of the schema: numbers with a dimension, vectors, signals, counts; and `doc`, which documents a field."""

import re
from collections.abc import Callable, Collection
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema, WrapValidator
from pydantic_core import PydanticCustomError, PydanticKnownError

from simcli.spec.values.units import UnitError, to_si
from simcli.spec.values.varied import Varied
from simcli.spec.values.varied_values import VariedText

REQUIRED = ...
SIGNAL_PATTERN = r"^\$[^{\s]"  # of a text that names a signal


def doc(default: Any, text: str, unit: str = "", example: Any = None, **more: Any) -> Any:
    """A field with its description: what it is, [unit], an example.

    Args:
        default: default value, REQUIRED if there is none, a callable for a factory.
        text: what the field is.
        unit: SI unit; "" if it has none.
        example: value as written in a scene.
        **more: passed to pydantic's Field.
    """
    words = text + (f" [{unit}]" if unit else "")
    shown = example if isinstance(example, str) else str(example).lower() if isinstance(example, bool) else repr(example)
    shown = shown if isinstance(example, str) else shown.replace("'", "")
    words += f". Example: {shown}" if example is not None else ""
    if callable(default):
        return Field(default_factory=default, description=words, **more)
    return Field(default, description=words, **more)


def refuse(code: str, message: str, hint: str = "", at: str = "") -> PydanticCustomError:
    """A fault out of a validator.

    Args:
        code: rule code.
        message: one line for the user.
        hint: what to do.
        at: key below the value that the validator sees, dotted.
    """
    return PydanticCustomError(code, "{message}", {"message": message, "hint": hint, "at": at})


def _convert(units: tuple[str, ...]) -> Callable[[object], object]:
    def convert(value: object) -> object:
        kind = type(value)
        if kind is float or kind is int:
            return value
        if isinstance(value, str):
            return from_text(value, *units)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse("SC203", f"{spell(value)} is not a number", number_hint(units))
        return value

    return convert


def from_text(text: str, *units: str) -> float:
    """SI value of a string with a unit, as a fault of the schema if it is none."""
    if text.startswith("$"):
        raise refuse(
            "SC214",
            f"the signal `{text}` stands where only a number may",
            f"a parameter is written `${{{text.strip('${}() ')}}}`; signals drive targets, forces and prescribed motions",
        )
    try:
        return to_si(text, *units) if units else to_si(text, own_unit(text))
    except UnitError as error:
        raise refuse(error.code, str(error), error.hint) from None


def own_unit(text: str) -> str:
    """The unit that stands in a text, for fields that take any."""
    return text.strip().lstrip("+-.0123456789").lstrip("eE+-0123456789" if text.strip()[:1].isdigit() else "").strip()


def spell(value: object) -> str:
    """A value as it may be named in a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = str(value)
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"


def number_hint(units: tuple[str, ...]) -> str:
    """What to write instead."""
    named = [unit for unit in units if unit]
    return f'write a number in {named[0]}, or a string as "2 {named[0]}"' if named else "write a plain number"


_BOUNDS_JSON = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


def number_json(*units: str, words: tuple[str, ...] = (), signal: bool = False, **bounds: float) -> dict[str, Any]:
    """JSON Schema of a number that may be a text with a unit; `schema_json` makes the pattern of the text of it.

    Args:
        *units: as of `quantity`.
        words: texts that stand for a number, as "auto".
        signal: whether `$name` may stand there.
        **bounds: as of `quantity`.
    """
    more = {"x-words": list(words)} if words else {}
    more |= {"x-signal": True} if signal else {}
    unit = " or ".join(one or "1" for one in units) or "any"
    return {"type": ["number", "string"], "x-unit": unit, **more, **{_BOUNDS_JSON[key]: at for key, at in bounds.items()}}


def one_or_list_json(*units: str, **more: Any) -> dict[str, Any]:
    """JSON Schema of a number as of `number_json`, or of a list of them."""
    one = number_json(*units, **more)
    return {**one, "type": [*one["type"], "array"], "items": one}


def quantity(*units: str, **bounds: float) -> Any:
    """A float in SI that may be written with a unit.

    Args:
        *units: SI units whose dimension is accepted; "" a plain number, none at all: any unit.
        **bounds: gt, ge, lt, le as of pydantic's Field.
    """
    schema = WithJsonSchema(number_json(*units, **bounds))
    return Annotated[float, Field(strict=True, **bounds), _in_all_worlds(_convert(units)), schema]


def _in_all_worlds(convert: Callable[[object], object]) -> WrapValidator:
    """A validator that converts a number before its bounds are checked; one that differs between worlds is in SI already."""

    def validated(value: object, check: Callable[[object], object]) -> object:
        value = value.converted(convert) if type(value) is VariedText else value
        return value.checked(check) if type(value) is Varied else check(convert(value))

    return WrapValidator(validated)


def _convert_signal(units: tuple[str, ...]) -> Callable[[object], object]:
    convert = _convert(units)

    def either(value: object) -> object:
        if is_signal(value):
            return value
        try:
            return float(convert(value))
        except PydanticCustomError:
            if isinstance(value, str) and value.isidentifier():
                hint = f"a signal is written `${value}`; else {number_hint(units)}"
                raise refuse("SC203", f"`{value}` is not a number", hint) from None
            raise

    return either


def is_signal(value: object) -> bool:
    """True for `$name`."""
    return isinstance(value, str) and value.startswith("$") and not value.startswith("${")


def drivable(*units: str, **bounds: float) -> Any:
    """A float in SI, or `$name` of a signal.

    Args:
        *units: as of `quantity`.
        **bounds: ge, of numbers, as of `quantity`.
    """
    more: dict[str, Any] = bounds
    schema = WithJsonSchema(number_json(*units, signal=True, **more))
    return Annotated[float | str, AfterValidator(_at_least(bounds)), _in_all_worlds(_convert_signal(units)), schema]


def _at_least(bounds: dict[str, float]) -> Callable[[object], object]:
    def check(value: object) -> object:
        if isinstance(value, float) and value < bounds.get("ge", value):
            raise PydanticKnownError("greater_than_equal", {"ge": bounds["ge"]})
        return value

    return check


_NUMBER_WORD = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def fixed_list(count: int, what: str) -> Callable[[object], object]:
    """A check that a value is a list of so many entries."""

    def check(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise refuse("SC203", f"{spell(value)} is not a list of {count} {what}", _in_brackets(value, count, what))
        if len(value) != count:
            raise refuse("SC205", f"a list of {len(value)}, but {count} {what} are expected", f"write {count} {what}")
        return value

    return check


def _in_brackets(value: object, count: int, what: str) -> str:
    """The hint of a value that is no list: its own numbers as one, if it holds them."""
    words = value.strip("()<> ").replace(",", " ").split() if isinstance(value, str) else []
    if len(words) == count and all(map(_NUMBER_WORD.fullmatch, words)):
        return f"write `[{', '.join(words)}]`"
    return f"write {count} {what} in brackets"


def list_json(item: dict, low: int, high: int | None = None) -> dict:
    """JSON Schema of a list without prefixItems, which older editors ignore."""
    return {"type": "array", "items": item, "minItems": low, **({"maxItems": high} if high else {})}


def vector(*units: str, count: int = 3, **bounds: float) -> Any:
    """A tuple of `count` floats in SI, each within bounds as of `quantity`."""
    one = quantity(*units, **bounds)
    items = tuple[(one,) * count]
    schema = WithJsonSchema(list_json(number_json(*units, **bounds), count, count))
    return Annotated[items, BeforeValidator(fixed_list(count, "numbers")), schema]


def drivable_vector(*units: str) -> Any:
    """Three floats in SI, each of which may be `$name`; or one `$name` of a vector-valued signal for all."""
    one = drivable(*units)

    def check(value: object) -> object:
        return (value,) * 3 if is_signal(value) else fixed_list(3, "numbers")(value)

    schema = {**list_json(number_json(*units, signal=True), 3, 3), "type": ["array", "string"], "pattern": SIGNAL_PATTERN}
    return Annotated[tuple[one, one, one], BeforeValidator(check), WithJsonSchema(schema)]


def _whole(value: object) -> object:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse("SC203", f"{spell(value)} is not a whole number", "write a whole number")
    return value


def count(**bounds: int) -> Any:
    """A whole number; `1e3` counts as one."""
    return Annotated[int, Field(strict=True, **bounds), BeforeValidator(_whole)]


def _truth(value: object) -> object:
    if not isinstance(value, bool):
        raise refuse("SC203", f"{spell(value)} is not true or false", "write true or false")
    return value


def _text(value: object) -> object:
    if not isinstance(value, str):
        hint = f'write "{value}" in quotes' if isinstance(value, int | float) and not isinstance(value, bool) else ""
        raise refuse("SC203", f"{spell(value)} is not a text", hint or "write a text")
    return value


def _pair(*units: str) -> Any:
    """Two numbers."""
    number: Any = quantity(*units)
    pair = tuple[number, number]  # type: ignore[valid-type]
    return Annotated[pair, BeforeValidator(fixed_list(2, "numbers")), WithJsonSchema(list_json(number_json(*units), 2, 2))]


Truth = Annotated[bool, BeforeValidator(_truth)]
Text = Annotated[str, BeforeValidator(_text)]

Plain = quantity("")
PlainPair, LengthPair = _pair(""), _pair("m")
Excitation, ForceSize, PerSecond = drivable(""), quantity("N", ge=0), quantity("1/s", gt=0)  # of muscles
Length = quantity("m")
PositiveLength = quantity("m", gt=0)
Time = quantity("s", ge=0)
PositiveTime = quantity("s", gt=0)
AnyNumber = quantity()
AtLeastZero = quantity(ge=0)
Tension = quantity("N")
Speed = quantity("m/s")
SurfaceVelocity = drivable_vector("m/s")
RateDown, RateUp = (quantity("rad/s", "m/s", **{bound: 0.0}) for bound in ("le", "ge"))
# [m]; places beyond have moments of inertia whose squares are beyond double precision, for any mass below 1e60 kg.
FAR_AWAY = 1e60
Point = vector("m", ge=-FAR_AWAY, le=FAR_AWAY)
_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def is_axis(value: object) -> bool:
    """True for the letter of an axis, with or without a sign."""
    return isinstance(value, str) and value.lower().lstrip("+-") in _AXES and len(value) < 3


def _no_letter(value: object) -> object:
    if is_axis(value):
        sign = -1 if value[0] == "-" else 1
        along = [sign * x for x in _AXES[value[-1].lower()]]
        raise refuse("SC203", f"{spell(value)} is not a list of 3 numbers", f"write `{along}`")
    return value


Direction = Annotated[vector(""), BeforeValidator(_no_letter)]


def one_of(part: BaseModel, names: Collection[str], code: str = "SC207", required: bool = True) -> str | None:
    """The one key of several that is written.

    Raises:
        PydanticCustomError: none (if required) or more than one.
    """
    values = part.__dict__
    given = [name for name in names if values[name] is not None]
    if len(given) == 1:
        return given[0]
    if not given and not required:
        return None
    listed = ", ".join(f"`{name}`" for name in names)
    if given:
        both = " and ".join(f"`{name}`" for name in given)
        raise refuse(code, f"{both} contradict each other", f"keep one of {listed}", at=given[1])
    raise refuse("SC202", f"one of {listed} is missing", "add one of them")
