"""All checks of a scene that passed the schema, in one paragraph."""

from collections.abc import Iterable

from simcli.spec.capabilities import solver_fields as capabilities
from simcli.spec.checks import look as check_look
from simcli.spec.checks import references as check_refs
from simcli.spec.checks import shapes as check_shapes
from simcli.spec.checks.checker import Checker
from simcli.spec.checks.mechanism import affine as check_affine
from simcli.spec.checks.mechanism import feedback as check_feedback
from simcli.spec.checks.mechanism import gears as check_gears
from simcli.spec.checks.mechanism import motions as check_motions
from simcli.spec.checks.mechanism import natural as check_natural
from simcli.spec.checks.mechanism import physics as check_physics
from simcli.spec.checks.mechanism import plane as check_plane
from simcli.spec.checks.mechanism import sensors as check_sensors
from simcli.spec.checks.mechanism import signals as check_signals
from simcli.spec.checks.mechanism import touching as check_touching
from simcli.spec.checks.runs import batch as check_batch
from simcli.spec.checks.runs import controls as check_controls
from simcli.spec.checks.runs import events as check_events
from simcli.spec.checks.runs import times as check_run
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
    batch: bool = False,
) -> None:
    """Find everything that is wrong between the parts of a scene.

    Args:
        spec: the scene without what the schema refused.
        tree: the expanded tree.
        document: the scene as written.
        faults: collects.
        broken: (section, name) of what the schema refused; a whole section has the name "".
        batch: True: check the values of events and `batch.vary` alone, which needs a scene that is sound otherwise.
    """
    check = Checker(spec, tree, document, faults, broken)
    if batch:
        check_events.try_events(check)
        check_controls.try_controls(check)
        check_batch.check_batch(check)
        return
    check_shapes.check_shapes(check, "world.shapes", spec.world.shapes)
    for name, body in spec.bodies.items():
        check_physics.check_body(check, name, body)
        check_natural.check_natural(check, name, body)
    for name, joint in spec.joints.items():
        check_physics.check_joint(check, name, joint)
    check_run.check_times(check)
    check_refs.check_names(check)
    check_refs.check_references(check)
    structure = check_physics.check_structure(check)
    check_gears.check_gears(check)
    check_affine.check_affine(check)
    check_plane.check_plane(check, list(spec.bodies), list(spec.joints))
    check_plane.check_loads_across(check)
    check_physics.check_quaternions(check)
    check_touching.check_touching(check)
    check_look.check_look(check)
    check_sensors.check_sensors(check)
    check_signals.check_signals(check)
    check_feedback.check_feedback(check)
    check_motions.check_motions(check)
    check_events.check_events(check)
    check_controls.check_controls(check)
    capabilities.check_capabilities(check, structure)


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
            check_shapes.check_shapes(check, "world.shapes", spec.world.shapes)
        elif section == "bodies":
            chosen = [name] if name else list(spec.bodies)
            check_plane.check_plane(check, chosen, [])
            for key in chosen:
                check_physics.check_body(check, key, spec.bodies[key])
        elif section == "joints":
            chosen = [name] if name else list(spec.joints)
            check_plane.check_plane(check, [], chosen)
            for key in chosen:
                check_physics.check_joint(check, key, spec.joints[key])
            capabilities.check_new_fields(check, chosen)
