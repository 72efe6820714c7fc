"""Reductions of measures: how the values of a quantity over a run become one number."""

# Those that need a bound, and by which keys.
BOUNDED_REDUCTIONS = {"first": ("above", "below"), "count": ("above", "below"), "last_outside": ("within",)}
REDUCTIONS = ("max", "min", "max_abs", "range", "final", "mean", "std", "rms", "integral", *BOUNDED_REDUCTIONS)


def unit_of_reduction(reduction: str, unit: str) -> str:
    """The unit of what a measure finds, of a quantity with a unit."""
    if reduction in ("first", "last_outside"):
        return "s"
    if reduction == "integral":
        return f"{unit}*s" if unit else "s"
    return "" if reduction == "count" else unit
