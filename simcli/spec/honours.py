"""Which solver honours which field. A field that the chosen solver does not honour is refused by name.

One row per field: a path pattern (`*` any name or index), the neutral values that ask for nothing, and the solvers that
honour anything else. A solver that learns something gets its name added to a row; nothing else changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from simcli.spec import structure
from simcli.spec.checker import Checker
from simcli.spec.nodes import Scalar, Table, walk
from simcli.spec.quantities import is_signal

GENERALIZED, MAXIMAL, NATURAL, AFFINE = "generalized", "maximal", "natural", "affine"
BUILT = frozenset((GENERALIZED,))  # solvers that exist in this version
NONE: frozenset[str] = frozenset()
_G = frozenset((GENERALIZED,))
_DRIVEN = ("revolute", "prismatic", "screw", "d6", "universal", "cylindrical", "planar")


@dataclass(frozen=True)
class Row:
    """A field and who honours it.

    Attributes:
        path: dotted pattern in the scene.
        solvers: solvers that honour it.
        neutral: values that ask for nothing.
        words: the field in words.
        hint: what to do instead.
    """

    path: str
    solvers: frozenset[str]
    words: str
    neutral: tuple = (None, False, 0.0, (), {})
    hint: str = "remove it"


ROWS: tuple[Row, ...] = (
    Row("joints.*.loop", NONE, "a loop joint", hint="this version builds trees only"),
    Row("joints.*.limit", NONE, "a joint limit"),
    Row("joints.*.friction.*", NONE, "dry friction in a joint", hint="use `damping`"),
    Row("joints.*.velocity_limit", NONE, "a velocity limit"),
    Row("joints.*.drive.*.effort_limit", NONE, "an effort limit"),
    Row("joints.*.compliance", NONE, "joint compliance"),
    Row("joints.*.mimic", NONE, "a gear"),
    Row("joints.*.motion", NONE, "a prescribed joint motion", hint="use a stiff `drive`"),
    Row("joints.*.enabled", NONE, "a joint that is switched off", (True,)),
    Row("joints.*.strength_ratio", NONE, "libuipc's strength ratio"),
    Row("joints.*.driving", NONE, "libuipc's driving joint", hint="use `drive`"),
    Row("bodies.*.kinematic", NONE, "a kinematic body"),
    Row("bodies.*.motion", NONE, "a prescribed body motion"),
    Row("bodies.*.natural", NONE, "a kind of natural coordinates"),
    Row("world.plane", NONE, "a planar scene", hint="use joints that keep the bodies in a plane"),
    Row("events", NONE, "events"),
    Row("initial.assemble", NONE, "assembly of loops"),
)

# Types of joints that a solver honours, and on which of them a drive.
JOINT_TYPES: dict[str, frozenset[str]] = {
    GENERALIZED: frozenset((
        "fixed", "revolute", "prismatic", "ball", "free", "universal", "cylindrical", "planar", "screw", "d6",
    )),
}  # fmt: skip
DRIVEN_TYPES: dict[str, frozenset[str]] = {GENERALIZED: frozenset(_DRIVEN)}
LOOPS: frozenset[str] = NONE  # solvers that close loops
SIGNALS: frozenset[str] = NONE  # solvers that read signals
CONTACT: frozenset[str] = NONE  # solvers with contact


def check_honours(check: Checker, tree: structure.Tree | None) -> None:
    """Refuse what the chosen solver would ignore."""
    if ("solver", "") in check.broken:
        return
    solver = check.spec.solver.type
    if solver not in BUILT:
        check.fault("SC502", f"the solver `{solver}` is not built yet in this version", "solver.type", "use generalized")
        return
    for row in ROWS:
        if solver in row.solvers:
            continue
        for path, value in _matches(check.spec, row.path.split(".")):
            if not any(value is one or (type(value) is type(one) and value == one) for one in row.neutral):
                written = _written(check, path)
                _refuse(check, row.words, written, row.hint, True)
    _joint_types(check, solver)
    if tree is not None and solver not in LOOPS:
        for name in tree.loop_joints:
            joint = check.spec.joints[name]
            if not joint.loop and joint.type in JOINT_TYPES[solver]:
                _refuse(
                    check,
                    f"the loop that joint `{name}` closes",
                    f"joints.{name}",
                    "this version builds trees only",
                    True,
                )
    if solver not in SIGNALS:
        _signals(check)
    if solver not in CONTACT:
        _contact(check)


def _refuse(check: Checker, words: str, path: object, hint: str, on_key: bool = False) -> None:
    check.fault("SC501", f"the {check.spec.solver.type} solver does not honour {words}", path, hint, on_key)


def _written(check: Checker, path: tuple) -> tuple:
    """The path as written: values of single axes stand below `axes`."""
    if path[0] == "joints" and len(path) > 2 and not check.has(f"joints.{path[1]}.{path[2]}"):
        return (*path[:2], "axes") if check.has(f"joints.{path[1]}.axes") else path
    return path


def _matches(value: object, pattern: list[str], path: tuple = ()) -> Iterator[tuple[tuple, object]]:
    """Paths and values that a pattern fits."""
    if not pattern:
        yield path, value
        return
    step, rest = pattern[0], pattern[1:]
    if step != "*":
        below = getattr(value, step, None)
        if below is not None:
            yield from _matches(below, rest, (*path, step))
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from _matches(below, rest, (*path, key))
    elif isinstance(value, tuple):
        for index, below in enumerate(value):
            yield from _matches(below, rest, (*path, index))


def _joint_types(check: Checker, solver: str) -> None:
    for name, joint in check.spec.joints.items():
        if joint.type not in JOINT_TYPES[solver]:
            _refuse(check, f"a joint of type `{joint.type}`", f"joints.{name}.type", "`simcli schema` lists the types")
        elif joint.drive is not None and joint.type not in DRIVEN_TYPES[solver]:
            _refuse(check, f"a drive on a `{joint.type}` joint", f"joints.{name}.drive", "use several joints", True)


def _signals(check: Checker) -> None:
    for section in ("bodies", "joints", "forces"):
        table = check.tree.get(section)
        for path, node in walk(table, (section,)) if isinstance(table, Table) else ():
            if isinstance(node, Scalar) and is_signal(node.value):
                _refuse(check, f"the signal `{node.value}`", path, "write a number")


def _contact(check: Checker) -> None:
    """The first pair of shapes that could touch."""
    spec = check.spec
    if "contacts" in spec.output.channels:
        _refuse(check, "the channel `contacts`", f"output.channels[{spec.output.channels.index('contacts')}]", "remove it")
    if not spec.contact.enabled or any(section in ("contact", "world", "bodies") for section, _ in check.broken):
        return
    owners = {name: body.shapes for name, body in spec.bodies.items()}
    owners = {structure.WORLD: spec.world.shapes, **owners}
    touching = [name for name, shapes in owners.items() if any(shape.collide for shape in shapes.values())]
    apart = {frozenset((joint.parent, joint.child)) for joint in spec.joints.values()}
    apart |= {frozenset(pair) for pair in spec.contact.exclude}
    for i, first in enumerate(touching):
        for second in touching[i + 1 :]:
            if frozenset((first, second)) not in apart:
                shape = next(key for key, one in spec.bodies[second].shapes.items() if one.collide)
                path = "contact" if check.has("contact") else f"bodies.{second}.shapes.{shape}"
                words = f"contact, and `{first}` and `{second}` could touch"
                _refuse(check, words, path, "write contact: {enabled: false}, or collide: false", True)
                return
