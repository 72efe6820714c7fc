"""Sensors of a scene in MJCF, of the types that it has.

Frames that sensors look from are sites. What is one sensor of several types in a scene is a sensor for each type.
"""

import numpy as np

from simcli.exchange.mjcf.sensors import (
    SENSORS_AT_JOINTS,
    SENSORS_AT_OBJECTS,
    SENSORS_AT_SITES,
    SENSORS_OF_JOINTS,
    SENSORS_OF_SUBTREES,
)
from simcli.exchange.source.mechanism import GivenNames
from simcli.exchange.writing.chains import ChainLink
from simcli.exchange.writing.mjcf_parts import MjcfParts, placed
from simcli.model.sensor_inputs import NO_TOUCHER
from simcli.model.tables.model import WORLD
from simcli.model.tables.sensor_tables import Sensors
from simcli.spec.schema.sensor import SensorSpec

_AT_SITE = {type_: kind.lower() for kind, type_ in SENSORS_AT_SITES.items()}
_AT_OBJECT = {type_: kind.lower() for kind, type_ in SENSORS_AT_OBJECTS.items()}
_OF_BALL = {SENSORS_OF_JOINTS[kind]: kind.lower() for kind in ("BALLQUAT", "BALLANGVEL")}
_OF_AXIS = {SENSORS_OF_JOINTS[kind]: kind.lower() for kind in ("JOINTPOS", "JOINTVEL")}
_AT_JOINT = {type_: kind.lower() for kind, type_ in SENSORS_AT_JOINTS.items()}
_OF_SUBTREE = {type_: kind.lower() for kind, type_ in SENSORS_OF_SUBTREES.items()}
_REORDERED = {"orientation": "gives the quaternion as w x y z"}
_BALLS = {"encoder": "gives the quaternion as w x y z, in axes of the child", "tachometer": "is in axes of the child"}


class _LostError(ValueError):
    """Why MJCF has no such sensor, in words."""


def write_sensors(parts: MjcfParts) -> None:
    """All sensors, and what became of each type of each."""
    scene, names = parts.scene, GivenNames(())
    for k, (name, spec) in enumerate(scene.spec.sensors.items()):
        path, changes, kept = f"sensors.{name}", [], 0
        for type_ in spec.type:
            given = names.give(name if len(spec.type) == 1 else f"{name}_{type_}")
            try:
                changes.append(_MjcfSensor(parts, k, spec, given).write(type_))
                kept += 1
            except _LostError as why:
                scene.lose("sensor", name, path, f"{type_}: {why}" if len(spec.type) > 1 else str(why))
            changes.append(f"is called `{given}`" if given != name else "")
        if kept:
            scene.report_element("sensor", name, path, "; ".join(dict.fromkeys(filter(None, changes))))
        if kept and spec.noise is not None:
            scene.lose("noise", name, f"{path}.noise", "MuJoCo applies no noise")


class _MjcfSensor:
    """A sensor on its way to MJCF.

    Args:
        parts: of the file.
        k: index of the sensor.
        spec: it in the scene.
        given: its name in the model.
    """

    def __init__(self, parts: MjcfParts, k: int, spec: SensorSpec, given: str):
        self.parts, self.k, self.spec, self.given = parts, k, spec, given
        self.section, self.table = parts.sections["sensor"], parts.scene.model.sensors

    def write(self, type_: str) -> str:
        """Write one type; what is changed with it."""
        if type_ in _AT_SITE:
            self.section.add(_AT_SITE[type_], name=self.given, site=self._site("body", "pose"))
            return self._range() if type_ == "range" else ""
        if type_ in _AT_OBJECT:
            seen = {"reftype": "site", "refname": self._site("base", "base_pose")} if self.spec.relative_to else {}
            self.section.add(_AT_OBJECT[type_], name=self.given, objtype="site", objname=self._site("body", "pose"), **seen)
            return _REORDERED.get(type_, "")
        if type_ in _OF_AXIS:
            return self._of_joint(type_)
        if type_ in _AT_JOINT:
            return self._at_joint(type_)
        if type_ in _OF_SUBTREE:
            body = self.parts.scene.model.bodies.name.index(self.spec.body)
            self.section.add(_OF_SUBTREE[type_], name=self.given, body=self.parts.scene.name_of(body))
            return ""
        if type_ == "touch":
            return self._touch()
        raise _LostError(f"MJCF has no sensor of the type {type_}")

    def _site(self, body: str, pose: str) -> str:
        """The site where the sensor is, or from which it is seen."""
        table: Sensors = self.table
        return self.parts.site(f"{self.given}_{body}", int(getattr(table, body)[self.k]), getattr(table, pose)[0, self.k])

    def _link(self) -> ChainLink | None:
        """What the joint of the sensor holds; None of a joint that closes a loop."""
        joint = int(self.table.joint[self.k])
        return next((link for link in self.parts.tree.links if link.joint == joint), None)

    def _of_joint(self, type_: str) -> str:
        """Coordinates or velocities, a sensor for each axis."""
        link = self._link()
        if link is not None and link.hold == "ball":
            self.section.add(_OF_BALL[type_], name=self.given, joint=link.name)
            return _BALLS[type_]
        axes = [axis for axis in link.axes if axis.lead is None] if link is not None else []
        if not axes:
            raise _LostError("MJCF has no sensor of the coordinates of such a joint")
        for n, axis in enumerate(axes):
            given = self.given if len(axes) == 1 else f"{self.given}_{n + 1}"
            self.section.add(_OF_AXIS[type_], name=given, joint=axis.name)
        return f"is {len(axes)} sensors, one for each axis" if len(axes) > 1 else ""

    def _at_joint(self, type_: str) -> str:
        """What a joint transmits to its child, which MuJoCo finds at a site of the body that hangs on it."""
        link, child = self._link(), int(self.parts.scene.model.joints.child[self.table.joint[self.k]])
        if link is None or link.hold == "free":
            raise _LostError("MJCF finds no force of a joint that closes a loop, or holds nothing")
        if link.body != child or self.table.body[self.k] != child:
            raise _LostError("MJCF gives the force on the body that hangs on the joint, at a site of that body")
        self.section.add(_AT_JOINT[type_], name=self.given, site=self._site("body", "pose"))
        return ""

    def _touch(self) -> str:
        """Contacts of a body within the zone of a site of its own."""
        table, k = self.table, self.k
        body, radius, half = int(table.toucher[k]), table.radius[0, k], table.half[0, k]
        if body == NO_TOUCHER or (radius < 0.0 and half[0] < 0.0):
            raise _LostError("sensors of touch in MJCF have a zone, and sum the contacts of a body")
        if int(table.body[k]) != body or body == WORLD:
            raise _LostError("the zone of a sensor of touch in MJCF is of the body whose contacts it sums")
        words = {"type": "sphere", "size": radius} if radius >= 0.0 else {"type": "box", "size": half}
        site = self.parts.scene.others.give(f"{self.given}_zone")
        self.parts.bodies[body].add("site", name=site, **words, **placed(np.asarray(table.pose[0, k])))
        self.section.add("touch", name=self.given, site=site)
        return "counts a contact if the line along its normal meets the zone"

    def _range(self) -> str:
        lost = "without its reach; " if self.spec.reach is not None else ""
        return f"{lost}sees what is only drawn, too"
