"""What signals drive of contacts: velocities of surfaces, and friction of the pairs in `contact.pairs`."""

from dataclasses import replace
from typing import Any

from simcli import rotations as rot
from simcli.model.bodies.contact_numbers import friction_signals, written_shape
from simcli.model.bodies.contact_pairs import members_of
from simcli.model.signals.inputs import Wiring
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import Driven
from simcli.model.tables.worlds import Worlds, pose_of
from simcli.spec.values.quantities import is_signal


def with_driven_contacts(worlds: Worlds, model: Model) -> Model:
    """Let signals drive what they do of contacts.

    Args:
        worlds: the scenes.
        model: of the same scenes, with its contacts and signals.
    """
    if model.contacts is None:
        return model
    wiring = Wiring(worlds, model)
    before = len(wiring.rows)
    _surfaces(wiring)
    for k, text in enumerate(friction_signals(worlds.first, *members_of(model, model.contacts))):
        wiring.drive(Driven.CONTACT_FRICTION, k, text)
    return replace(model, inputs=wiring.inputs()) if len(wiring.rows) > before else model


def _surfaces(wiring: Wiring) -> None:
    """Velocities of surfaces, turned from the frames of their shapes into those of their bodies."""
    worlds, shapes = wiring.worlds, wiring.model.shapes
    bodies = [*worlds.first.bodies, "world"]
    for s, (name, body) in enumerate(zip(shapes.name, shapes.body.tolist(), strict=True)):
        read = lambda scene, label=(name, bodies[body]): written_shape(scene, *label)[0]  # noqa: E731
        shape: Any = read(worlds.first)
        vector = shape.surface_velocity
        for k, text in enumerate(vector if any(map(is_signal, vector)) else ()):
            turn = rot.quat_to_matrix(pose_of(worlds, lambda scene, read=read: read(scene).pose)[:, 3:])
            for i in range(3):
                wiring.drive(Driven.SURFACE_VELOCITY, 3 * s + i, text, k, turn[:, i, k])
