"""What a file says of the measures of a scene: units, components, words."""

from collections.abc import Mapping, Sequence

from simcli.model.measures import NORM, Measures
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.signal_tables import Sensors
from simcli.records.contents.measures import MeasureLayout
from simcli.records.contents.model_columns import coordinate_units
from simcli.spec.base.channel_names import REDUCTIONS, TYPES_BY_KIND, kind_of, own_quantity, split_name, unit_of_reduction
from simcli.spec.schema.expect import MeasureSpec

# Units of quantities, by `kind_of`, as of files; none of a joint's own coordinates.
SI = {name: [unit.replace("*", " ") or "1" for unit in one.units] for name, one in TYPES_BY_KIND.items()}


def layouts_of(
    specs: Mapping[str, MeasureSpec], measures: Measures, joints: Joints, sensors: Sensors
) -> tuple[MeasureLayout, ...]:
    """What a file says of the measures of a scene.

    Args:
        specs: `measure` of the scene.
        measures: their table.
        joints: of the scene.
        sensors: of the scene.
    """
    return tuple(
        _layout(name, specs[name], measures, rows, joints, sensors)
        for name, rows in zip(measures.names, measures.rows, strict=True)
    )


def _layout(
    name: str, spec: MeasureSpec, measures: Measures, rows: slice, joints: Joints, sensors: Sensors
) -> MeasureLayout:
    first, parts = measures.first[rows][0], measures.part[rows]
    units = {_unit(spec.quantity, first + max(part, 0), max(part, 0), joints, sensors) for part in parts}
    unit = units.pop() if len(units) == 1 else "mixed"
    unit = unit_of_reduction(spec.reduction, unit).replace("*", " ") or "1"
    unit = "mixed" if "mixed" in unit else unit
    labels = tuple(_label(spec.quantity, part) for part in parts) if len(parts) > 1 else ()
    return MeasureLayout(name, spec.quantity, spec.reduction, unit, in_words(spec), labels)


def in_words(spec: MeasureSpec) -> str:
    """A measure in one line."""
    of = f"the norm of {spec.quantity}" if spec.norm else spec.quantity
    of += f"[{spec.component}]" if spec.component is not None else ""
    of += " in axes of the body" if spec.frame == "body" else ""
    bounds = {"above": spec.above, "below": spec.below, "outside": spec.within}
    bound = "".join(f" {word} {_bound(at)}" for word, at in bounds.items() if at is not None)
    what = REDUCTIONS[spec.reduction].words.replace("{}", of)
    start = f" from {spec.since:g} s" if spec.since else ""
    return f"{what}{bound}{start}" + (f" until {spec.until:g} s" if spec.until is not None else "")


def _bound(at: float | tuple[float, float]) -> str:
    return " to ".join(f"{x:g}" for x in (at if isinstance(at, tuple) else (at,)))


def recorded_columns(measures: Measures, names: Sequence[str], joints: Joints, sensors: Sensors) -> list[tuple[str, str]]:
    """Label and unit of each column of /frames/quantity.

    Args:
        measures: of the run.
        names: of the quantities that are recorded.
        joints: of the scene.
        sensors: of the scene.
    """
    found, n = [], measures.n - measures.records
    for name in names:
        for part in range(measures.width[n]):
            label = f"{name}.{_label(name, part)}" if measures.width[n] > 1 else name
            found.append((label, _unit(name, measures.first[n] + part, part, joints, sensors)))
        n += measures.width[n]
    return found


def _unit(quantity: str, row: int, part: int, joints: Joints, sensors: Sensors) -> str:
    kind = kind_of(quantity)
    if known := SI.get(kind):
        return known[part]
    units, name = coordinate_units(joints), split_name(quantity)
    if own := own_quantity(name):
        j, is_q = sensors.joint[sensors.name.index(name.subject)], own == "q"
        starts = joints.q_start if is_q else joints.qd_start
        return units["q_unit" if is_q else "qd_unit"][int(starts[j]) + part]
    own = {"q": "q_unit", "effort": "effort_unit", "drive_effort": "effort_unit"}.get(kind, "qd_unit")
    return units[own][row] + "^2" * (kind == "qdd")


def _label(quantity: str, part: int) -> str:
    parts = TYPES_BY_KIND[kind_of(quantity)].parts
    return "norm" if part == NORM else parts[part] if parts else str(part)
