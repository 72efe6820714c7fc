"""Which solver supports which field. A field that the chosen solver does not support is refused by name.

One row per field: a path pattern (`*` any name or index), the neutral values that ask for nothing, and the solvers that
support anything else. A solver that learns something gets its name added to a row; nothing else changes. Fields of joints
depend on the joint's type: joint_fields.py has them.

Fields of CHOICES say how a solver writes its unknowns or solves for them, and nothing about the mechanism. Another solver
notes them in a warning, because its result is that of the same scene: one file serves all solvers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from simcli.spec.base import dofs
from simcli.spec.base.nodes import Scalar, TableNode, walk_nodes
from simcli.spec.checks.geometry import touching_pair
from simcli.spec.checks.joint_fields import asked, check_joint_fields, refuse_field
from simcli.spec.checks.solver_rules import check_barrier, check_efforts, check_smooth
from simcli.spec.faults.checker import Checker
from simcli.spec.lookup import structure
from simcli.spec.values.quantities import is_signal

GENERALIZED, MAXIMAL, NATURAL, _AFFINE = "generalized", "maximal", "natural", "affine"
BUILT = frozenset((GENERALIZED, MAXIMAL, NATURAL, _AFFINE))
_EXACT = BUILT - {_AFFINE}
_RIGID = frozenset((GENERALIZED, MAXIMAL))
_STILL, _AS_BODY = (0.0, 0.0, 0.0), "remove it, or let a kinematic body move as the surface does"


@dataclass(frozen=True)
class FieldRule:
    """A field and who supports it.

    Attributes:
        path: dotted pattern in the scene.
        solvers: solvers that support it.
        neutral: values that ask for nothing.
        words: the field in words.
        hint: what to do instead.
    """

    path: str
    solvers: frozenset[str]
    words: str
    neutral: tuple = (None, False, 0.0, (), {})
    hint: str = "remove it"


FIELD_RULES: tuple[FieldRule, ...] = (
    FieldRule("joints.*.loop", BUILT, "a loop joint", hint="this version builds trees only"),
    FieldRule("joints.*.strength_ratio", frozenset((_AFFINE,)), "libuipc's strength ratio"),
    FieldRule("joints.*.driving", frozenset((_AFFINE,)), "libuipc's driving joint", hint="use `drive`"),
    FieldRule("joints.*.limit.*.strength", frozenset((_AFFINE,)), "a cubic limit", hint="use `stiffness`"),
    FieldRule("bodies.*.affine", frozenset((_AFFINE,)), "`affine` of a body"),
    FieldRule("contact.pairs.*.d_hat", frozenset((_AFFINE,)), "`d_hat` of a pair"),
    FieldRule("contact.pairs.*.barrier_stiffness", frozenset((_AFFINE,)), "`barrier_stiffness` of a pair"),
    FieldRule("bodies.*.kinematic", BUILT, "a kinematic body"),
    FieldRule("bodies.*.motion", BUILT, "a prescribed body motion"),
    FieldRule("bodies.*.natural.compliance", frozenset((NATURAL,)), "compliance of a body", hint="use the natural solver"),
    FieldRule("forces.*.through.*.cylinder", _EXACT, "a rope around a cylinder", hint="write points"),
    FieldRule("forces.*.through.*.sphere", _EXACT, "a rope around a sphere", hint="write points"),
    FieldRule("forces.*.paid_out", _EXACT, "a rope that a coordinate pays out"),
    FieldRule("forces.*.tension", _EXACT, "a rope that is pulled"),
    FieldRule("forces.*.muscle", _EXACT, "a rope with a muscle"),
    FieldRule("world.plane", _EXACT, "a planar scene", hint="use joints that keep the bodies in a plane"),
    *(
        FieldRule(f"{owner}.shapes.*.surface_velocity", _EXACT, "a surface that moves along itself", (_STILL,), _AS_BODY)
        for owner in ("bodies.*", "world")
    ),
    *(
        FieldRule(f"forces.*.{key}_table", _EXACT, f"{key} by a table", hint=f"write `{key}`")
        for key in ("stiffness", "damping")
    ),
    FieldRule("solver.contact.sleep_after", _RIGID, "bodies that sleep"),
    FieldRule("events", BUILT, "events"),
    FieldRule("initial.assemble", BUILT, "assembly of loops"),
)

CHOICES: tuple[FieldRule, ...] = (
    FieldRule("bodies.*.natural", frozenset((NATURAL,)), "the kind of natural coordinates"),
    FieldRule("solver.contact.linear", _RIGID, "sparse contact", ("auto", "dense")),
)

LOOPS: frozenset[str] = BUILT  # solvers that close loops
JOINT_ENERGIES: frozenset[str] = frozenset((_AFFINE,))  # solvers whose joints pull together what is open
SIGNALS: frozenset[str] = BUILT  # solvers that read signals
CONTACT: frozenset[str] = BUILT  # solvers with contact
CONTACT_INTEGRATORS = ("semi_implicit", "moreau", "rk4", "implicit", "bdf1", "bdf2")  # their integrators that take contacts


def check_capabilities(check: Checker, tree: structure.Tree | None) -> None:
    """Refuse what the chosen solver would ignore, and note what only chooses how another one works."""
    if ("solver", "") in check.broken:
        return
    solver = check.spec.solver.type
    for row, path in _ignored(check, FIELD_RULES):
        refuse_field(check, row.words, path, row.hint, True)
    for row, path in _ignored(check, CHOICES):
        message = f"the {solver} solver does not use {row.words}; the motion is the same without it"
        check.fault("SC502", message, path, f"it is for {' and '.join(sorted(row.solvers))}", True, severity="warning")
    check_joint_fields(check, tree)
    _check_forces(check)
    check_efforts(check)
    _check_integrator(check)
    if tree is not None and solver not in LOOPS:
        for name in tree.loop_joints:
            joint = check.spec.joints[name]
            if not joint.loop and joint.type not in dofs.NEVER_TREE:
                refuse_field(
                    check,
                    f"the loop that joint `{name}` closes",
                    f"joints.{name}",
                    "this version builds trees only",
                    True,
                )
    if solver not in SIGNALS:
        _signals(check)
    _check_contact(check)


def check_new_fields(check: Checker, joints: Iterable[str]) -> None:
    """Refuse what joints ask for in one world of a batch, or after an event, and not in the scene.

    Worlds that ask for the same are looked at once.

    Args:
        check: the scene of the world.
        joints: names of those that are changed.
    """
    cache = check.document.cache
    base = cache.get("spec")
    if base is None:
        return
    now, before = check.spec.joints, base.joints  # what is switched differs in no world, and events look at it themselves
    new = frozenset(
        (name, field)
        for name in joints
        if name in before
        for field in {*asked(now[name], name, set())} - {*asked(before[name], name, set())}
    )
    sound = cache.setdefault("new fields that are supported", set())
    if new and new not in sound:
        n_errors = len(check.faults.errors)
        check_capabilities(check, structure.tree(check.spec))
        if len(check.faults.errors) == n_errors:
            sound.add(new)


def _check_forces(check: Checker) -> None:
    for name, force in check.spec.forces.items():
        if check.spec.solver.type not in force.SOLVERS:
            hint = f"use {', '.join(sorted(force.SOLVERS))}"
            refuse_field(check, f"a force of type `{force.type}`", f"forces.{name}.type", hint)


def _ignored(check: Checker, rows: tuple[FieldRule, ...]) -> Iterator[tuple[FieldRule, tuple]]:
    """Rows whose field asks for something that the chosen solver does not support, with the paths of these fields."""
    for row in rows:
        if check.spec.solver.type in row.solvers:
            continue
        for path, value in _matches(check.spec, row.path.split(".")):
            if not any(value is one or (type(value) is type(one) and value == one) for one in row.neutral):
                yield row, path


def _check_contact(check: Checker) -> None:
    """Refuse contact where solver, integrator or precision do not take it, and what the barrier does not know."""
    solver, apart = check.spec.solver.type, "write contact: {enabled: false}, or collide: false"
    if solver not in CONTACT:
        _contact(check, "", "remove it", apart)
    elif (integrator := getattr(check.spec.solver, "integrator", "")) not in CONTACT_INTEGRATORS:
        hint = f"use {CONTACT_INTEGRATORS[solver == NATURAL]}"
        _contact(check, f" with {integrator}", hint, f"{hint}, {apart}")
    elif solver == _AFFINE and check.spec.solver.precision == "float32":
        hint = "use precision: float64"
        _contact(check, " in single precision", hint, f"{hint}, {apart}")
    elif solver == _AFFINE:
        check_barrier(check)
    elif solver in _RIGID and check.spec.solver.contact.linear == "sparse":
        _check_apart(check, "solver.contact.linear", "sparse contact", "write linear: auto")
    if solver in _RIGID and check.spec.solver.contact.sleep_after is not None:
        _check_sleep(check)
    elif check.has("solver.contact.sleep_speed"):
        message = "`sleep_speed` has no effect without `sleep_after`: no body sleeps"
        check.fault("SC502", message, "solver.contact.sleep_speed", "write sleep_after, too", True, severity="warning")


def _check_apart(check: Checker, path: str, words: str, hint: str) -> None:
    """Refuse what needs velocities of each body, where bodies share them, or have fewer than six."""
    spec = check.spec
    held = [name for name, joint in spec.joints.items() if joint.type != "free" or joint.parent != structure.WORLD_NAME]
    if spec.solver.type == GENERALIZED and held:
        refuse_field(check, f"{words} with joint `{held[0]}`", path, f"take the maximal solver, or {hint}", True)
    elif spec.world.plane is not None:
        refuse_field(check, f"{words} in a planar scene", path, hint, True)


def _check_sleep(check: Checker) -> None:
    """Refuse sleep where steps are not of impulses alone, where something may move a body at rest, or show its forces."""
    spec, path, hint = check.spec, "solver.contact.sleep_after", "leave sleep_after out"
    _check_apart(check, path, "sleep", hint)
    moving = {"signals": spec.signals, "forces": spec.forces, "events": spec.events}
    surfaces = [*spec.world.shapes.values(), *(shape for body in spec.bodies.values() for shape in body.shapes.values())]
    soft = any(one.compliance for one in (*spec.materials.values(), *spec.contact.pairs))
    driven = [
        *(f"joint `{name}`" for name, joint in spec.joints.items() if joint.motion),
        *(f"body `{name}`" for name, body in spec.bodies.items() if body.kinematic),
    ]
    shown = [channel for channel in ("contacts", "reactions") if channel in spec.output.channels]
    found = [
        *(f"the integrator {spec.solver.integrator}" for _ in range(spec.solver.integrator != "semi_implicit")),
        *("linear: dense" for _ in range(spec.solver.contact.linear == "dense")),
        *(f"`{name}`" for name, given in moving.items() if given),
        *(f"the motion of {name}" for name in driven),
        *("compliant contacts, whose energy would be missing" for _ in range(soft)),
        *("a surface that moves along itself" for _ in range(any(any(one.surface_velocity) for one in surfaces))),
        *(f"the channel {name}" for name in shown),
    ]
    for words in found:
        refuse_field(check, f"sleep with {words}", path, hint, True)


def _check_integrator(check: Checker) -> None:
    """Refuse what the chosen integrator would ignore."""
    integrator = getattr(check.spec.solver, "integrator", "")
    if integrator == "generalized_alpha":
        check_smooth(check)
    elif check.has("solver.spectral_radius"):
        hint = "take generalized_alpha, or leave it out"
        refuse_field(check, f"a spectral radius with {integrator}", "solver.spectral_radius", hint, True)


def _matches(value: object, pattern: list[str]) -> list[tuple[tuple, object]]:
    """Paths and values that a pattern fits."""
    found: list[tuple[tuple, object]] = [((), value)]
    for step in pattern:
        if step == "*":
            found = [((*path, key), below) for path, one in found for key, below in _entries(one)]
        else:
            below = ((path, getattr(one, step, None)) for path, one in found)
            found = [((*path, step), one) for path, one in below if one is not None]
    return found


def _entries(value: object) -> Iterable[tuple[str | int, object]]:
    """Names or indices of what a mapping or a list holds, and what they hold; nothing of another value."""
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()


def _signals(check: Checker) -> None:
    for section in ("bodies", "joints", "forces"):
        table = check.tree.get(section)
        for path, node in walk_nodes(table, (section,)) if isinstance(table, TableNode) else ():
            if isinstance(node, Scalar) and is_signal(node.value):
                refuse_field(check, f"the signal `{node.value}`", path, "write a number")


def _contact(check: Checker, who: str, instead: str, apart: str) -> None:
    """Refuse the first pair of shapes that could touch, and what is said about contact.

    Args:
        check: the scene.
        who: which integrator does not take it, as " with rk4".
        instead: what to do about what is said.
        apart: what to do about the pair.
    """
    spec = check.spec
    if check.has("solver.contact"):
        refuse_field(check, f"contact options{who}", "solver.contact", instead, True)
    if "contacts" in spec.output.channels:
        where = f"output.channels[{spec.output.channels.index('contacts')}]"
        refuse_field(check, f"the channel `contacts`{who}", where, instead)
    pair = touching_pair(check)
    if pair is not None:
        shape = next(key for key, one in spec.bodies[pair[1]].shapes.items() if one.collide)
        path = "contact" if check.has("contact") else f"bodies.{pair[1]}.shapes.{shape}"
        refuse_field(check, f"contact{who}, and `{pair[0]}` and `{pair[1]}` could touch", path, apart, True)
