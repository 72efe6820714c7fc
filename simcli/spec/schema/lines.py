"""Schema of lines through points, which say a force or a bound: tables of springs, dampers and motors."""

from collections.abc import Sequence
from itertools import pairwise

from pydantic import model_validator

from simcli.spec.values.quantities import REQUIRED, AnyNumber, Force, Length, NotNegative, Speed, doc, refuse
from simcli.spec.values.spec_model import SpecModel


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
    force: tuple[Force, ...] = doc(REQUIRED, "Tension at each, negative where it pushes", "N", [-400, 0, 50], min_length=2)


class RateTable(_ForceTable):
    """Tension over the rate of the length, against it at any rate."""

    rate: tuple[Speed, ...] = doc(REQUIRED, "Rates, rising", "m/s", [-1, 0, 1], min_length=2)
    force: tuple[Force, ...] = doc(REQUIRED, "Tension at each, of the sign of the rate", "N", [-300, 0, 100], min_length=2)

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
    effort: tuple[NotNegative, ...] = doc(REQUIRED, "Largest effort at each", "N*m or N", [5, 5, 0], min_length=2)

    @model_validator(mode="after")
    def _is_line(self) -> "EffortCurve":
        refuse_no_line("speed", self.speed, "effort", self.effort)
        return self
