"""What a run of the tests has touched, against the lists that the code holds.

A note is a tuple of words, as ("law", "natural", "friction"). Notes are taken where a solver is made of tables, where
shapes are laid out to touch, and where a command ends. Each worker hands its own to the session (conftest.py), which fails
if it has run the whole default tier and `wanted` lists what no test has touched.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np

from simcli.model.forces.ends import LINK_TABLES
from simcli.model.tables.model import TABLES

Note = tuple[str, ...]
MOST_SHAPES = 60  # that can touch, of a scene whose pairs are noted one by one

OF_KERNELS = ("integrator", "joint", "law", "force", "contact", "shapes")  # first words of notes

notes: set[Note] = set()


def _any(values) -> bool:
    return bool(np.any(np.nan_to_num(values)))


def _is_bounded(*values) -> bool:
    return any(bool(np.isfinite(one).any()) for one in values)


def _has_effort(model) -> bool:
    from simcli.model.tables.signal_tables import Driven

    return _any(model.joint_f) or bool(np.any(model.inputs.column == Driven.JOINT_F))


# Whether a model has what a field of joints asks for, by the name of spec/checks/joint_fields.py.
LAWS: dict[str, Callable] = {
    "limit": lambda m: _is_bounded(m.dofs.limit_lower, m.dofs.limit_upper, m.joints.length),
    "drive": lambda m: _any(m.dofs.drive_mode),
    "friction": lambda m: _any(m.dofs.friction),
    "damping": lambda m: _any(m.dofs.damping),
    "armature": lambda m: _any(m.dofs.armature),
    "velocity_limit": lambda m: _is_bounded(m.dofs.velocity_limit),
    "effort_limit": lambda m: _is_bounded(m.dofs.effort_limit),
    "compliance": lambda m: _any(m.joints.compliance),
    "mimic": lambda m: len(m.mimics.follower) > 0,
    "motion": lambda m: _any(m.motions.kind),
    "enabled": lambda m: not np.all(m.joints.enabled),
    "effort": _has_effort,
    "torsion": lambda m: _any(m.dofs.spring_stiffness),
}
# Whether a model has a force of each type that scenes write.
FORCES: dict[str, Callable] = {
    "torque": _has_effort,
    "torsion": LAWS["torsion"],
    "coupling": lambda m: len(m.combinations.name) + len(m.holds.name) > 0,
    **{TABLES[table].in_files.entry: lambda m, t=table: len(getattr(m, t).name) > 0 for table in LINK_TABLES},
}


def note_run(solver: str, model, options) -> None:
    """Note what a solver is made of.

    Args:
        solver: its type.
        model: of the scene.
        options: of the scene's section `solver`.
    """
    from simcli.model.tables.model import JointKind

    notes.add(("integrator", solver, str(getattr(options, "integrator", ""))))
    for kind in set(model.joints.kind.tolist()):
        notes.update({("joint", JointKind(kind).name), ("joint", solver, JointKind(kind).name)})
    notes.update(("law", solver, name) for name, has in LAWS.items() if has(model))
    notes.update(("force", name) for name, has in FORCES.items() if has(model))
    if model.contacts is not None:
        notes.add(("contact", solver))
        note_shapes(model)


def note_shapes(model) -> None:
    """Note the pairs of kinds of shapes that can touch in a model."""
    from simcli.model.bodies.contact_pairs import PAIR_ORDER
    from simcli.model.tables.model import ShapeKind

    if len(model.contacts.touching) <= MOST_SHAPES:
        a, b = (model.shapes.kind[index] for index in model.contacts.pairs[:2])
        for pair in set(zip(a.tolist(), b.tolist(), strict=True)):
            first, second = sorted(map(ShapeKind, pair), key=PAIR_ORDER.index)
            notes.add(("shapes", first.name, second.name))


def note_command(words, code: int, word: str = "command") -> None:
    """Note a command that has ended, and its exit code.

    Args:
        words: of the command line.
        code: of its end.
        word: "command" in this process, "process" in one of its own.
    """
    notes.add((word, next((str(one) for one in words if not str(one).startswith("-")), "")))
    notes.add((f"exit of {word}", str(int(code))))


def wanted() -> set[Note]:
    """What the default tier must touch, by the lists of the code.

    Each joint in each solver that supports a field of it, each law in each solver that has it.
    """
    from simcli.cli.app import COMMANDS
    from simcli.errors import Exit
    from simcli.model.bodies.contact_pairs import PAIR_ORDER
    from simcli.model.joints.catalogue import CATALOGUE
    from simcli.model.tables.model import JointKind, ShapeKind
    from simcli.spec.checks.joint_fields import JOINTS
    from simcli.spec.checks.solver_fields import CONTACT
    from simcli.spec.schema.forces import FORCES as FORCE_SPECS
    from support.solver_modes import MODES

    found = {("integrator", *mode) for mode in MODES}
    found |= {("contact", solver) for solver in CONTACT} | {("joint", kind.name) for kind in JointKind}
    for solver, fields in JOINTS.items():
        supported = frozenset().union(*fields.tree.values(), *fields.loop.values()) & fields.types
        found |= {("joint", solver, CATALOGUE[name].kind.name) for name in supported}
        found |= {("law", solver, field) for field in fields.tree if fields.tree[field] | fields.loop[field]}
    found |= {("force", force.type_name()) for force in FORCE_SPECS}
    unmoved = {ShapeKind.PLANE, ShapeKind.HEIGHTFIELD}
    found |= {("shapes", a.name, b.name) for a, b in combinations_with_replacement(PAIR_ORDER, 2) if not {a, b} <= unmoved}
    found |= {(word, command.name) for command in COMMANDS for word in ("command", "process")}
    found |= {("exit of process", str(int(code))) for code in Exit}
    return found


def wanted_of_kernels() -> set[Note]:
    """What the tests of the mark `engine` must touch: all of `wanted` that kernels are made of."""
    return {note for note in wanted() if note[0] in OF_KERNELS}


def missing(seen: set[Note], whole: set[Note] | None = None) -> list[str]:
    """What a list has and nobody has touched, in words.

    Args:
        seen: what was touched.
        whole: the list, that of `wanted` if None.
    """
    return sorted(" ".join(note) for note in (wanted() if whole is None else whole) - seen)


def listening(patch) -> None:
    """Take notes from here on.

    Args:
        patch: pytest's MonkeyPatch, which ends it.
    """
    from simcli.cli import process as cli_process
    from simcli.kernels.collision.collider import Collider
    from simcli.solvers import SOLVERS

    for name, make in [*SOLVERS.items()]:
        patch.setitem(SOLVERS, name, _noted(name, make))
    laid_out, run_command = Collider.__init__, cli_process.run_command

    def lay_out(self, model, *more):
        note_shapes(model)
        laid_out(self, model, *more)

    def run(words, **options):
        code = run_command(words, **options)
        note_command(words, code)
        return code

    patch.setattr(Collider, "__init__", lay_out)
    patch.setattr(cli_process, "run_command", run)


def _noted(name: str, make: Callable) -> Callable:
    def made(model, options=None, *more, **named):
        note_run(name, model, options)
        return make(model, options, *more, **named)

    return made
