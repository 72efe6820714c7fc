"""Numbers with units: "5 cm", "120 rpm", "10 N*m/rad" to SI, with the dimension checked.

A dimension is a tuple of exponents over (m, kg, s, rad, cycle). Angle and cycle are dimensions of their own so that
`2 Hz` is not taken for `2 rad/s`, nor an angle for a plain number.
"""

import ast
import math
import re
from functools import lru_cache

Dimension = tuple[float, float, float, float, float]

_NONE: Dimension = (0, 0, 0, 0, 0)
_ANGLE = 3
_MASS = 1
_MAX_TEXT = 120  # characters; the longest sensible unit is far shorter
_MAX_POWER = 12
_MAX_NESTING = 8

_M, _KG, _S, _RAD, _CYCLE = ((1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 1))
_N, _PA, _J, _W = (1, 1, -2, 0, 0), (-1, 1, -2, 0, 0), (2, 1, -2, 0, 0), (2, 1, -3, 0, 0)
_RATE, _HZ, _ACC = (0, 0, -1, 1, 0), (0, 0, -1, 0, 1), (1, 0, -2, 0, 0)

# Value in SI and dimension of each symbol.
UNITS: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, _M), "km": (1e3, _M), "dm": (0.1, _M), "cm": (0.01, _M), "mm": (1e-3, _M), "um": (1e-6, _M),
    "µm": (1e-6, _M), "μm": (1e-6, _M), "nm": (1e-9, _M), "in": (0.0254, _M), "inch": (0.0254, _M),
    "ft": (0.3048, _M), "yd": (0.9144, _M), "mi": (1609.344, _M),
    "kg": (1.0, _KG), "g": (1e-3, _KG), "mg": (1e-6, _KG), "t": (1e3, _KG), "lb": (0.45359237, _KG),
    "oz": (0.028349523125, _KG), "slug": (14.593902937206, _KG),
    "s": (1.0, _S), "ms": (1e-3, _S), "us": (1e-6, _S), "µs": (1e-6, _S), "μs": (1e-6, _S), "ns": (1e-9, _S),
    "min": (60.0, _S), "h": (3600.0, _S), "d": (86400.0, _S),
    "rad": (1.0, _RAD), "mrad": (1e-3, _RAD), "deg": (math.pi / 180, _RAD), "°": (math.pi / 180, _RAD),
    "rev": (2 * math.pi, _RAD), "turn": (2 * math.pi, _RAD), "arcmin": (math.pi / 10800, _RAD),
    "arcsec": (math.pi / 648000, _RAD),
    "rpm": (2 * math.pi / 60, _RATE), "rps": (2 * math.pi, _RATE),
    "Hz": (1.0, _HZ), "kHz": (1e3, _HZ), "MHz": (1e6, _HZ), "cycle": (1.0, _CYCLE),
    "N": (1.0, _N), "mN": (1e-3, _N), "kN": (1e3, _N), "MN": (1e6, _N), "lbf": (4.4482216152605, _N),
    "kgf": (9.80665, _N), "dyn": (1e-5, _N),
    "Nm": (1.0, _J), "mNm": (1e-3, _J), "kNm": (1e3, _J),
    "Pa": (1.0, _PA), "kPa": (1e3, _PA), "MPa": (1e6, _PA), "GPa": (1e9, _PA), "bar": (1e5, _PA),
    "psi": (6894.757293168, _PA), "atm": (101325.0, _PA),
    "J": (1.0, _J), "mJ": (1e-3, _J), "kJ": (1e3, _J), "W": (1.0, _W), "mW": (1e-3, _W), "kW": (1e3, _W),
    "g0": (9.80665, _ACC), "gee": (9.80665, _ACC),
    "%": (0.01, _NONE), "ppm": (1e-6, _NONE),
}

# Names of dimensions for messages, by their exponents.
_NAMES: dict[Dimension, str] = {
    _NONE: "a plain number", _M: "a length", _KG: "a mass", _S: "a time", _RAD: "an angle", _CYCLE: "a count of cycles",
    _HZ: "a frequency", _RATE: "an angular velocity", _N: "a force", _PA: "a pressure", _J: "a torque or energy",
    _W: "a power", _ACC: "an acceleration", (1, 0, -1, 0, 0): "a velocity", (2, 0, 0, 0, 0): "an area",
    (3, 0, 0, 0, 0): "a volume", (-3, 1, 0, 0, 0): "a density", (2, 1, 0, 0, 0): "an inertia",
    (0, 1, -2, 0, 0): "a stiffness", (0, 1, -1, 0, 0): "a damping", (2, 1, -2, -1, 0): "a rotational stiffness",
    (2, 1, -1, -1, 0): "a rotational damping", (-1, -1, 2, 1, 0): "a rotational compliance",
    (0, -1, 2, 0, 0): "a compliance", (0, 0, -2, 1, 0): "an angular acceleration",
}

_SI_OF: dict[Dimension, str] = {
    _NONE: "1", _M: "m", _KG: "kg", _S: "s", _RAD: "rad", _CYCLE: "cycle", _HZ: "Hz", _RATE: "rad/s", _N: "N", _PA: "Pa",
    _J: "J", _W: "W", _ACC: "m/s^2",
}

_WORDS = {
    "degree": "deg", "degrees": "deg", "radian": "rad", "radians": "rad", "meter": "m", "metre": "m", "meters": "m",
    "second": "s", "seconds": "s", "sec": "s", "gram": "g", "newton": "N", "kilogram": "kg", "hertz": "Hz",
}

_NUMERIC = tuple("0123456789+-.")  # first characters of a text that was meant as a number
_NUMBER = re.compile(r"\s*([-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)(.*)\Z", re.DOTALL)
_SYMBOL = re.compile(r"[A-Za-zµμ°%]+0?")
_TOKEN = re.compile(r"\s*(\*\*|[*/^()·⋅]|[-+]?\d+(?:\.\d+)?|[A-Za-zµμ°%]+0?|[²³])")


class UnitError(ValueError):
    """A text that is no number with a unit, or has the wrong dimension. The message is for the user."""

    def __init__(self, message: str, hint: str = "", code: str = "SC211"):
        super().__init__(message)
        self.hint = hint
        self.code = code


def describe(dimension: Dimension) -> str:
    """A dimension in words, else in base units."""
    return _NAMES.get(dimension) or f"a quantity in {base_units(dimension)}"


def base_units(dimension: Dimension) -> str:
    """A dimension spelled in base units, as `kg*m^2/s`."""
    names = (("kg", 1), ("m", 0), ("rad", 3), ("cycle", 4), ("s", 2))
    above = [n if dimension[i] == 1 else f"{n}^{dimension[i]:g}" for n, i in names if dimension[i] > 0]
    below = [n if dimension[i] == -1 else f"{n}^{-dimension[i]:g}" for n, i in names if dimension[i] < 0]
    return ("*".join(above) or "1") + "".join(f"/{unit}" for unit in below)


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> tuple[float, Dimension]:
    """Value in SI and dimension of a unit such as `N*m/rad`, `kg m^2`, `1/s`.

    Raises:
        UnitError: an unknown unit or a text that is none.
    """
    if len(text) > _MAX_TEXT:
        raise UnitError("a unit of more than 120 characters")
    return _Parser(text).parse()


def si_unit(text: str) -> str:
    """The SI unit of what is written in a unit: `N/m` of `N/mm`, `N*m/rad` of `N mm/deg`; "" of a plain number.

    Raises:
        UnitError: as of `parse_unit`.
    """
    if parse_unit(text)[1] == _NONE:
        return ""
    spelled = _SYMBOL.sub(_in_si, text.strip().replace("**", "^").replace("²", "^2").replace("³", "^3"))
    return re.sub(r"\s*[*·⋅ ]\s*", "*", spelled)


def _in_si(found: re.Match) -> str:
    """A symbol of a unit as its SI unit, which stands in brackets where what is around it would tear it apart."""
    symbol, before, after = found[0], found.string[: found.start()].strip(), found.string[found.end() :].strip()
    unit = "N*m" if symbol.endswith("Nm") else _SI_OF[UNITS[symbol][1]]
    is_torn = before.endswith("/") or after[:1] == "^" or after[:1].isdigit()
    is_torn |= "/" in unit and (bool(before) or after[:1] not in ("", "/"))
    return f"({unit})" if is_torn and ("*" in unit or "/" in unit) else unit


def split_header(text: str) -> tuple[str, str]:
    """Label and unit of a header of a table, as `joint.pin.q [deg]`; the unit is "" where there is none."""
    if not text.endswith("]") or " [" not in text:
        return text, ""
    label, unit = text[:-1].rsplit(" [", 1)
    return label, unit


def column_factor(header: str, unit: str, expected: str) -> float:
    """What turns the numbers of a column of a table into SI.

    Args:
        header: of the column, for messages.
        unit: that its header names; "" where they are in SI.
        expected: SI unit of what it holds, "" of numbers without a dimension.

    Raises:
        UnitError: with the column.
    """
    if unit in ("", expected):
        return 1.0
    try:
        (value, dimension), (_, wanted) = parse_unit(unit), parse_unit(expected)
    except UnitError as error:
        raise UnitError(f"column `{header}`: {error}", error.hint) from None
    if dimension != wanted:
        raise UnitError(f"column `{header}` is in {unit}, but [{expected or '1'}] is expected")
    return value


class _Parser:
    """Recursive descent over: product = power { [*] power | / power }, power = (name | ( product )) [^ n]."""

    def __init__(self, text: str):
        self.text = text.strip()
        self.tokens = []
        position = 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise UnitError(f"`{self.text}` is not a unit", "units look like `m/s^2` or `N*m/rad`")
            self.tokens.append(match.group(1))
            position = match.end()
        self.next = 0

    def parse(self) -> tuple[float, Dimension]:
        if not self.tokens:
            return 1.0, _NONE
        value = self.product(0)
        if self.next < len(self.tokens):
            raise UnitError(f"`{self.text}` is not a unit", "units look like `m/s^2` or `N*m/rad`")
        return value

    def peek(self) -> str:
        return self.tokens[self.next] if self.next < len(self.tokens) else ""

    def product(self, depth: int) -> tuple[float, Dimension]:
        factor, dimension = self.power(depth)
        while self.peek() not in ("", ")"):
            sign = 1
            if self.peek() in ("*", "·", "⋅", "/"):
                sign = -1 if self.peek() == "/" else 1
                self.next += 1
            other, other_dimension = self.power(depth)
            factor *= other**sign
            dimension = tuple(a + sign * b for a, b in zip(dimension, other_dimension, strict=True))
        return factor, dimension

    def power(self, depth: int) -> tuple[float, Dimension]:
        token = self.peek()
        self.next += 1
        if token == "(" and depth < _MAX_NESTING:
            factor, dimension = self.product(depth + 1)
            if self.peek() != ")":
                raise UnitError(f"`{self.text}` lacks a `)`")
            self.next += 1
        elif token == "1":
            factor, dimension = 1.0, _NONE
        elif token in UNITS:
            factor, dimension = UNITS[token]
        elif token and (token[0].isalpha() or token[0] in "°%"):
            raise UnitError(f"unknown unit `{token}`", _suggest(token), "SC212")
        else:
            raise UnitError(f"`{self.text}` is not a unit", "units look like `m/s^2` or `N*m/rad`")
        exponent = self.exponent()
        return factor**exponent, tuple(exponent * value for value in dimension)

    def exponent(self) -> int:
        token = self.peek()
        if token in ("²", "³"):
            self.next += 1
            return 2 if token == "²" else 3
        if token in ("^", "**"):
            self.next += 1
            token = self.peek()
        elif not token.isdigit():
            return 1
        self.next += 1
        try:
            value = int(token)
        except ValueError:
            raise UnitError(f"`{self.text}`: an exponent is a whole number") from None
        if abs(value) > _MAX_POWER:
            raise UnitError(f"`{self.text}`: an exponent beyond {_MAX_POWER}")
        return value


def _suggest(token: str) -> str:
    from simcli.spec.base.fault_list import nearest_name

    same = {name.lower(): name for name in reversed(UNITS)}
    close = same.get(token.lower()) or _WORDS.get(token.lower()) or nearest_name(token, UNITS)
    return f"did you mean `{close}`?" if close else "units: m, kg, s, rad, deg, N, Pa, J, W, Hz, rpm and their kin"


def unit_fits(given: Dimension, expected: Dimension) -> bool:
    """Whether a dimension may stand for another.

    Angle counts, except that a torque per angle may leave the `/rad` out (`N*m` for a stiffness, as in many tables),
    and that a frequency may be written as `1/s`.
    """
    if given == expected:
        return True
    same = all(given[i] == expected[i] for i in (0, 1, 2))
    if expected == _HZ:
        return same and not given[_ANGLE]
    return same and given[4] == expected[4] and given[_ANGLE] == 0 and expected[_MASS] != 0


@lru_cache(maxsize=256)
def dimension_of(unit: str) -> Dimension:
    """Dimension of a unit's text."""
    return parse_unit(unit)[1]


def to_si(text: str, *expected: str) -> float:
    """Value in SI of a number with a unit.

    Args:
        text: as "5 cm".
        expected: SI units of the field, as "m"; the text must fit one of them.

    Raises:
        UnitError: no number, no unit, an unknown unit, or another dimension than expected.
    """
    match = _NUMBER.match(text) if len(text) <= _MAX_TEXT else None
    wanted = " or ".join(f"{describe(dimension_of(unit))} [{unit or '1'}]" for unit in expected)
    if match is None:
        code = "SC211" if text.strip()[:1] in _NUMERIC else "SC203"
        hint = _as_expression(text) or _example(expected)
        raise UnitError(f"`{_clip(text)}` is not a number; {wanted} is expected", hint, code)
    number, unit = float(match.group(1)), match.group(2).strip()
    if not unit:
        hint = _as_expression(text) or "remove the quotes or add the unit"
        raise UnitError(f"the number `{_clip(text)}` is quoted and has no unit", hint)
    factor, dimension = unit_behind(text, unit)
    if not any(unit_fits(dimension, dimension_of(one)) for one in expected):
        message = f"`{_clip(text)}` is {describe(dimension)}, but {wanted} is expected"
        raise UnitError(message, _example(expected), "SC213")
    value = number * factor
    if not math.isfinite(value):
        raise UnitError(f"`{_clip(text)}` is not a finite number")
    return value


def unit_behind(text: str, unit: str) -> tuple[float, Dimension]:
    """`parse_unit` of what stands behind a number, whose fault says how arithmetic is written where that is meant.

    Raises:
        UnitError: see `parse_unit`.
    """
    try:
        return parse_unit(unit)
    except UnitError as error:
        raise UnitError(str(error), _as_expression(text) or error.hint, error.code) from None


_SLOTS = re.compile(r"\$\{([^{}]*)\}|\$\(([^()]*)\)|\$\{?(\w+)\}?|\{(\w+)\}")


def _as_expression(text: str) -> str:
    """The hint for arithmetic that stands outside of `${...}`, as `-$L`; "" if there is none."""
    source = getattr(text, "written", text).strip()  # a text in which numbers took the place of expressions has both
    inner = _SLOTS.sub(lambda slot: _inner(source, slot), source).replace("^", "**")
    is_marked = "$" in source or "{" in source
    if len(source) > 60 or not re.fullmatch(r"[\w.+*/(), -]+", inner) or not re.search(r"[A-Za-z_]", inner):
        return ""
    try:
        ast.parse(inner, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    if inner.isidentifier():
        return f"a parameter is written `${{{inner}}}`" if is_marked else ""
    is_sum = is_marked or re.search(r"[+*/-]", inner[1:])
    return f"arithmetic stands inside the braces: `${{{inner}}}`" if is_sum else ""


def _inner(source: str, slot: re.Match) -> str:
    """An expression as a part of a larger one: in brackets if it has operators and anything stands beside it."""
    found = next(group for group in slot.groups() if group is not None).strip()
    is_alone = slot.group() == source or re.fullmatch(r"\w+|[\d.]+", found)
    return found if is_alone else f"({found})"


def _example(expected: tuple[str, ...]) -> str:
    unit = expected[0] if expected else ""
    return f'write a number in {unit}, or a string as "2 {unit}"' if unit else "write a plain number"


def _clip(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
