"""All checks of a scene that passed the schema, in one paragraph."""

from collections.abc import Iterable

from simcli.spec.base.fault_list import Faults
from simcli.spec.base.nodes import TableNode
from simcli.spec.checks import solver_fields as capabilities
from simcli.spec.checks.batch import Resolvers, check_batch
from simcli.spec.checks.drives import check_gears, check_motions
from simcli.spec.checks.events import check_controls, check_events, try_controls, try_events
from simcli.spec.checks.expectations import check_times
from simcli.spec.checks.geometry import (
    check_loads_across,
    check_look,
    check_plane,
    check_ropes,
    check_shapes,
    check_touching,
)
from simcli.spec.checks.physics import check_body, check_joint, check_quaternions, check_structure
from simcli.spec.checks.references import check_names, check_references
from simcli.spec.checks.signals import check_feedback, check_sensors, check_signals
from simcli.spec.checks.solver_rules import check_affine, check_natural
from simcli.spec.document.scene_file import Document
from simcli.spec.faults.checker import Checker
from simcli.spec.schema.scene import SceneSpec


def check_spec(
    spec: SceneSpec,
    tree: TableNode,
    document: Document,
    faults: Faults,
    broken: set[tuple[str, str]],
) -> None:
    """Find everything that is wrong between the parts of a scene.

    Args:
        spec: the scene without what the schema refused.
        tree: the expanded tree.
        document: the scene as written.
        faults: collects.
        broken: (section, name) of what the schema refused; a whole section has the name "".
    """
    check = Checker(spec, tree, document, faults, broken)
    check_shapes(check, "world.shapes", spec.world.shapes)
    for name, body in spec.bodies.items():
        check_body(check, name, body)
        check_natural(check, name, body)
    for name, joint in spec.joints.items():
        check_joint(check, name, joint)
    check_times(check)
    check_names(check)
    check_references(check)
    check_ropes(check)
    structure = check_structure(check)
    check_gears(check)
    check_affine(check)
    check_plane(check, list(spec.bodies), list(spec.joints))
    check_loads_across(check)
    check_quaternions(check)
    check_touching(check)
    check_look(check)
    check_sensors(check)
    check_signals(check)
    check_feedback(check)
    check_motions(check)
    check_events(check)
    check_controls(check)
    capabilities.check_capabilities(check, structure)


def check_changes(check: Checker, by: Resolvers) -> None:
    """Check the values of events, controls and the batch, which needs a scene that is sound without them.

    Args:
        check: of the scene.
        by: resolves the scene with other values.
    """
    try_events(check, check_entries)
    try_controls(check, check_entries)
    check_batch(check, by)


def check_entries(
    spec: SceneSpec, tree: TableNode, document: Document, faults: Faults, changed: Iterable[tuple[str, str]]
) -> None:
    """Check again what numbers can break, for entries that a world of a batch changes.

    Args:
        spec: the scene of one world.
        tree: its tree.
        document: the scene as written.
        faults: collects.
        changed: (section, entry).
    """
    check = Checker(spec, tree, document, faults, set())
    for section, name in changed:
        if section == "world":
            check_shapes(check, "world.shapes", spec.world.shapes)
        elif section == "bodies":
            chosen = [name] if name else list(spec.bodies)
            check_plane(check, chosen, [])
            for key in chosen:
                check_body(check, key, spec.bodies[key])
        elif section == "joints":
            chosen = [name] if name else list(spec.joints)
            check_plane(check, [], chosen)
            for key in chosen:
                check_joint(check, key, spec.joints[key])
            capabilities.check_new_fields(check, chosen)
