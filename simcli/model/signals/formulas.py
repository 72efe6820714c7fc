"""Formulas of feedback as three-address code: arithmetic on values of lines, folded where these are constants.

The structure of the code depends on the text alone, not on the values of its numbers, so that worlds that differ in numbers
have the same lines. Only what is constant is worked out here, in double precision.
"""

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partialmethod, reduce
from typing import Any

from simcli.model.tables.signal_tables import Op
from simcli.spec.base.channel_names import split_component
from simcli.spec.values.braces import parsed_with_names
from simcli.spec.values.expressions import FUNCTIONS, Arithmetic, ExpressionError, real_numbers, value_of
from simcli.spec.values.varied import DivergedError, VariedFormula, as_float, for_all_worlds

_FOLDED: dict[Op, Callable[..., float]] = {
    Op.ADD: lambda x, y: x + y,
    Op.SUBTRACT: lambda x, y: x - y,
    Op.MULTIPLY: lambda x, y: x * y,
    Op.DIVIDE: lambda x, y: x / y,
    Op.ABSOLUTE: abs,
    **{
        op: for_all_worlds(function)
        for op, function in (
            (Op.POWER, math.pow),
            *(
                (op, FUNCTIONS[name][0])
                for op, name in (
                    (Op.MINIMUM, "min"),
                    (Op.MAXIMUM, "max"),
                    (Op.ARCTANGENT, "atan2"),
                    (Op.ROOT, "sqrt"),
                    (Op.SINE, "sin"),
                    (Op.COSINE, "cos"),
                    (Op.TANGENT, "tan"),
                    (Op.EXPONENTIAL, "exp"),
                    (Op.SIGN, "sign"),
                )
            ),
        )
    },
}


@dataclass
class LawNames:
    """What the laws of a scene have in common while they are read.

    Attributes:
        signals: index of each row of the signals.
        switched: signal to the latches that change it, each with the index of its own signal and by how much it does.
        quantities: that are seen, each with its component.
        n_states: states so far.
    """

    signals: dict[str, int]
    switched: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    quantities: list[tuple[str, int]] = field(default_factory=list)
    n_states: int = 0

    def states(self, n: int) -> int:
        """Room for n states; gives the first."""
        self.n_states += n
        return self.n_states - n

    def quantity(self, name: str) -> int:
        """Number of a quantity, which is `q` or `q.component`."""
        text, component = split_component(name)
        found = (text, component or 0)
        if found not in self.quantities:
            self.quantities.append(found)
        return self.quantities.index(found)


@dataclass
class Code:
    """The lines of one law.

    Attributes:
        names: of all laws.
        rows: op, x, y, index and length of each line.
        constants: those that lines name, numbered from `first_constant` on.
    """

    names: LawNames
    first_constant: int = 0
    rows: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)

    def line(self, op: Op, x: int = 0, y: int = 0, index: int = 0, length: int = 1) -> "Term":
        """Append a line."""
        self.rows.append((int(op), x, y, index, length))
        return Term(self, len(self.rows) - 1)

    def number(self, value: float) -> "Term":
        """A constant, which has no line until one needs it."""
        return Term(self, None, as_float(value))

    def of(self, op: Op, *values: "Term") -> "Term":
        """The value of an operation: folded if all its values are constants."""
        if all(value.place is None for value in values):
            return self.number(_FOLDED[op](*(value.constant for value in values)))
        return self.line(op, *(value.placed() for value in values))

    def formula(self, text: str | VariedFormula) -> "Term":
        """The value of a text with names in braces.

        Raises:
            ExpressionError: it is no arithmetic, or has no value.
        """
        if type(text) is VariedFormula:
            try:
                return self._value_of(text.text, text.number)
            except ExpressionError:
                raise DivergedError from None  # whose words name the text of one world
        return self._value_of(text, lambda name: None)

    def _value_of(self, text: str, number_of: Callable[[str], Any]) -> "Term":
        tree, names = parsed_with_names(text)
        with real_numbers(text):
            return value_of(tree, lambda word: self.named(word, names, number_of), text, self.arithmetic())

    def named(self, word: str, names: dict[str, str], number_of: Callable[[str], Any]) -> "Term":
        """A name of a formula, which may stand for a number."""
        if word == "t":
            return self.line(Op.TIME)
        name = names[word]
        if (number := number_of(name)) is not None:
            return self.number(number)
        if name.startswith("signal."):
            return self.signal(name.removeprefix("signal."))
        return self.line(Op.QUANTITY, index=self.names.quantity(name))

    def signal(self, name: str) -> "Term":
        """The value of a signal: of a constant that events by condition set the one that they have set last."""
        value = self.line(Op.SIGNAL, index=self.names.signals[name])
        for latch, change in self.names.switched.get(name, ()):
            value = value + self.line(Op.SIGNAL, index=latch) * change
        return value

    def arithmetic(self) -> Arithmetic:
        """What formulas compute with."""

        def binary(op):
            return lambda a, b: self.of(op, a, b)

        def chain(op):
            return lambda *values: reduce(binary(op), values)

        operators = {ast.Add: Op.ADD, ast.Sub: Op.SUBTRACT, ast.Mult: Op.MULTIPLY, ast.Div: Op.DIVIDE, ast.Pow: Op.POWER}
        unary = {
            "abs": Op.ABSOLUTE,
            "sqrt": Op.ROOT,
            "sin": Op.SINE,
            "cos": Op.COSINE,
            "tan": Op.TANGENT,
            "exp": Op.EXPONENTIAL,
            "sign": Op.SIGN,
        }
        functions = {name: (lambda a, op=op: self.of(op, a)) for name, op in unary.items()}
        functions |= {"min": chain(Op.MINIMUM), "max": chain(Op.MAXIMUM), "atan2": binary(Op.ARCTANGENT), "clip": self.clip}
        return Arithmetic(self.number, {node: binary(op) for node, op in operators.items()}, functions)

    def clip(self, x: "Term", low: "Term", high: "Term") -> "Term":
        """X within bounds."""
        return self.of(Op.MINIMUM, self.of(Op.MAXIMUM, x, low), high)


@dataclass(frozen=True)
class Term:
    """A line of a code, or a constant.

    Attributes:
        code: whose.
        place: number of the line, None for a constant.
        constant: its value.
    """

    code: Code
    place: int | None
    constant: float = 0.0

    def placed(self) -> int:
        """Number of the line; a constant gets one."""
        if self.place is not None:
            return self.place
        self.code.constants.append(self.constant)
        index = self.code.first_constant + len(self.code.constants) - 1
        return self.code.line(Op.CONSTANT, index=index).place

    def _with(self, op: Op, other: "Term | float", *, swapped: bool = False) -> "Term":
        other = other if isinstance(other, Term) else self.code.number(other)
        return self.code.of(op, *((other, self) if swapped else (self, other)))

    __add__ = partialmethod(_with, Op.ADD)
    __sub__ = partialmethod(_with, Op.SUBTRACT)
    __rsub__ = partialmethod(_with, Op.SUBTRACT, swapped=True)
    __mul__ = partialmethod(_with, Op.MULTIPLY)
    __truediv__ = partialmethod(_with, Op.DIVIDE)
    __neg__ = partialmethod(_with, Op.MULTIPLY, -1.0)
