"""All checks of a scene that passed the schema, in one paragraph."""

from collections.abc import Iterable

from simcli.spec.capabilities import solver_fields as capabilities
from simcli.spec.checks.checker import Checker
from simcli.spec.checks.look import check_look
from simcli.spec.checks.mechanism.affine import check_affine
from simcli.spec.checks.mechanism.feedback import check_feedback
from simcli.spec.checks.mechanism.gears import check_gears
from simcli.spec.checks.mechanism.motions import check_motions
from simcli.spec.checks.mechanism.natural import check_natural
from simcli.spec.checks.mechanism.physics import check_body, check_joint, check_quaternions, check_structure
from simcli.spec.checks.mechanism.plane import check_loads_across, check_plane
from simcli.spec.checks.mechanism.sensors import check_sensors
from simcli.spec.checks.mechanism.signals import check_signals
from simcli.spec.checks.mechanism.touching import check_touching
from simcli.spec.checks.references import check_names, check_references
from simcli.spec.checks.runs.batch import Resolvers, check_batch
from simcli.spec.checks.runs.controls import check_controls, try_controls
from simcli.spec.checks.runs.events import check_events, try_events
from simcli.spec.checks.runs.times import check_times
from simcli.spec.checks.shapes import check_shapes
from simcli.spec.document.nodes import TableNode
from simcli.spec.document.scene_file import Document
from simcli.spec.faults.fault_list import Faults
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
