"""Parameters: a scope of named numbers that may refer to each other, inside an outer scope."""

import math

from simcli.errors import Where
from simcli.spec.base.fault_list import Faults, did_you_mean
from simcli.spec.base.nodes import Mark, Node, Rank, Scalar, TableNode, full_rank, made_of, plain
from simcli.spec.values.expressions import RESERVED, ExpressionError, has_expression, names_in, substitute_names
from simcli.spec.values.quantities import own_unit
from simcli.spec.values.units import UnitError, dimension_of, to_si, unit_behind, unit_fits
from simcli.spec.values.varied import as_float
from simcli.spec.values.varied_values import VariedText

_SAME = 1e-12  # relative: a unit rounds


def where_of(mark: Mark, path: str = "") -> Where:
    """A mark as a place."""
    return Where(mark.file, mark.line, mark.column, mark.length, path)


class Scope:
    """Parameters by name, evaluated on demand.

    A parameter is a number, a number with a unit (kept in SI), or an expression over parameters of the same scope
    and of the outer ones. A cycle is a fault. A parameter that failed counts as 1, so that the rest can be checked.
    """

    def __init__(self, outer: "Scope | None", faults: Faults):
        self.outer, self.faults = outer, faults
        self.nodes: dict[str, tuple[Node, Scope]] = {}
        self.values: dict[str, float] = {}
        self.ranks: dict[str, Rank] = {}  # of those that somebody else than the file has written, worked out with values

    def declare(self, table: Node | None, home: "Scope | None" = None) -> None:
        """Take the entries of a `params` mapping; their expressions are evaluated in `home` (default: here)."""
        if not isinstance(table, TableNode):
            if table is not None and not (isinstance(table, Scalar) and table.value is None):
                self.faults.add("SC203", "`params` must be a mapping of names to numbers", where_of(table.mark, "params"))
            return
        for name, node in table.items.items():
            if not name.isidentifier() or name in RESERVED:
                reason = "is a function or constant of expressions" if name in RESERVED else "is not a parameter name"
                self.faults.add(
                    "SC206",
                    f"`{name}` {reason}",
                    where_of(table.keys[name], f"params.{name}"),
                    "give it another name" if name in RESERVED else "use letters, digits and _",
                )
                continue
            self.nodes[name] = (node, home or self)

    def names(self) -> list[str]:
        """All names that can be used here, inner ones first."""
        return [*self.nodes, *(self.outer.names() if self.outer else [])]

    def lookup(self, name: str) -> float:
        """Value of a parameter.

        Raises:
            ExpressionError: an unknown name.
        """
        if name in self.values:
            return self.values[name]
        if name not in self.nodes:
            if self.outer is not None:
                return self.outer.lookup(name)
            raise ExpressionError(f"unknown parameter `{name}`", did_you_mean(name, self.names(), "parameters"), "SC222")
        self._work_out(name)
        return self.values[name]

    def rank_in(self, text: str) -> Rank:
        """The highest rank of the parameters that an expression, which is worked out, names; through others, too."""
        homes: list[Scope] = [self]
        while homes[-1].outer is not None:
            homes.append(homes[-1].outer)
        if not any(home.ranks for home in homes):
            return Rank.FILE
        owners = ((next((home for home in homes if name in home.nodes), self), name) for name in names_in(text))
        return max((home.ranks.get(name, Rank.FILE) for home, name in owners), default=Rank.FILE)

    def _work_out(self, wanted: str) -> None:
        """Evaluate a parameter after those that it needs, with a stack of our own: chains may be long."""
        waiting = [wanted]
        open_names: dict[str, None] = {}
        while waiting:
            name = waiting[-1]
            needs = [] if name in self.values else [other for other in self._needs(name) if other not in self.values]
            if needs and name not in open_names:
                open_names[name] = None
                circle = next((other for other in needs if other in open_names), None)
                if circle is not None:
                    chain = list(open_names)
                    loop = " -> ".join([*chain[chain.index(circle) :], circle][-8:])
                    message = f"parameters refer to each other in a circle: {loop}"
                    for one in open_names:
                        self.values[one] = 1.0  # so that the circle is one fault
                    place_of = where_of(self.nodes[circle][0].mark, f"params.{circle}")
                    self.faults.add("SC223", message, place_of, "give one of them a number")
                    return
                waiting.extend(needs)
                continue
            waiting.pop()
            open_names.pop(name, None)
            if name not in self.values:
                self.values[name] = self._evaluate(name)

    def _needs(self, name: str) -> list[str]:
        """Parameters of this scope that the expression of a parameter names."""
        node, home = self.nodes[name]
        if home is not self or not isinstance(node, Scalar) or not has_expression(node.value):
            return []
        return sorted(names_in(node.value) & self.nodes.keys())

    def _evaluate(self, name: str) -> float:
        node, home = self.nodes[name]
        where = where_of(node.mark, f"params.{name}")
        value = node.value if isinstance(node, Scalar) else None
        try:
            rank = full_rank(node)
            if has_expression(value):
                text, value = value, substitute_names(value, home.lookup)
                rank = max(rank, home.rank_in(text))
            if rank > Rank.FILE:
                self.ranks[name] = rank
            if type(value) is VariedText:
                return value.converted(_any_unit)
            if isinstance(value, str):
                return _any_unit(value)
        except (ExpressionError, UnitError) as error:
            self.faults.add(error.code, str(error), where, error.hint)
            return 1.0
        if isinstance(value, FailedParameter):
            return 1.0
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.faults.add("SC203", f"the parameter `{name}` must be a number", where, 'as `0.4`, "40 cm" or "${2*L}"')
            return 1.0
        return as_float(value)

    def check_all(self) -> None:
        """Evaluate every parameter, so that unused wrong ones are reported too."""
        for name in self.nodes:
            try:
                self.lookup(name)
            except ExpressionError as error:
                self.faults.add(error.code, str(error), where_of(self.nodes[name][0].mark, f"params.{name}"), error.hint)
                self.values[name] = 1.0


def _any_unit(text: str) -> float:
    number = text.strip().split(" ", 1)
    tail = number[1] if len(number) > 1 else text.strip().lstrip("+-.0123456789")
    unit = tail.strip()
    unit_behind(text, unit)
    return to_si(text, unit)


def evaluated(node: Node, scope: Scope) -> Node:
    """The tree with every `${...}` replaced by its value; parts without one are shared, not copied."""
    if not node.has_dollar:
        return node
    if isinstance(node, Scalar):
        if not has_expression(node.value):
            return node
        try:
            value = substitute_names(node.value, scope.lookup)
            return Scalar(value, made_of(node, scope.rank_in(node.value)), quoted=True)
        except ExpressionError as error:
            scope.faults.add(error.code, str(error), where_of(node.mark), error.hint)
            return failed(node.mark)
    if isinstance(node, TableNode):
        changed = {key: new for key, item in node.items.items() if (new := evaluated(item, scope)) is not item}
        return node.replaced(changed) if changed else node
    items = [evaluated(item, scope) for item in node.items]
    if all(new is old for new, old in zip(items, node.items, strict=True)):
        return node
    return type(node)(items, node.mark)


class FailedParameter:
    """Value of a scalar whose fault is already reported: the schema is silent about it."""

    def __repr__(self) -> str:
        return "<invalid>"


def failed(mark: Mark) -> Scalar:
    """A scalar that holds a Failed."""
    return Scalar(FailedParameter(), mark)


def written_dimension(node: Node | None) -> tuple | None:
    """Dimension of a number that is written with a unit, None of any other."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return None
    try:
        return dimension_of(own_unit(node.value))
    except UnitError:
        return None


def same_kind(one: Node | None, other: Node | None) -> bool:
    """Whether two numbers may be values of one parameter: False where both have units, and these do not fit."""
    mine, theirs = written_dimension(one), written_dimension(other)
    return mine is None or theirs is None or unit_fits(theirs, mine) or unit_fits(mine, theirs)


def says_same(one: Node | None, other: Node | None) -> bool:
    """Whether two values are one: equal, or the same number in other units; angles and plain numbers count in SI."""
    if one is other or one is None or other is None:
        return one is other
    if plain(one) == plain(other):
        return True
    numbers = [_number(node) for node in (one, other)]
    return None not in numbers and math.isclose(*numbers, rel_tol=_SAME)


def _number(node: Node) -> float | None:
    """A number in SI, None of what is none, or has an expression."""
    value = node.value if isinstance(node, Scalar) else None
    try:
        found = _any_unit(value) if isinstance(value, str) else value
    except UnitError:
        return None
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None
