"""MjcfSensors of a compiled model, of the types that scenes have."""

from typing import NamedTuple

import numpy as np

from simcli.exchange.mjcf.acts import Acts
from simcli.exchange.mjcf.bodies import LostPartError, frame_of
from simcli.exchange.source.mechanism import NO_OFFSET, GivenNames, SourceFrame, clean_numbers
from simcli.spec.lookup.structure import WORLD_NAME

# The type of a scene by that of MuJoCo, `mjSENS_...`, whose element has the same name. A new one is a line here.
SENSORS_AT_SITES = {"GYRO": "gyro", "ACCELEROMETER": "accelerometer", "VELOCIMETER": "velocimeter", "RANGEFINDER": "range"}
SENSORS_AT_OBJECTS = {
    "FRAMEPOS": "position",
    "FRAMEQUAT": "orientation",
    "FRAMELINVEL": "velocity",
    "FRAMEANGVEL": "angular_velocity",
}
SENSORS_OF_JOINTS = {"JOINTPOS": "encoder", "BALLQUAT": "encoder", "JOINTVEL": "tachometer", "BALLANGVEL": "tachometer"}
SENSORS_AT_JOINTS = {"FORCE": "force", "TORQUE": "torque"}
SENSORS_OF_SUBTREES = {"SUBTREECOM": "com", "SUBTREELINVEL": "com_velocity", "SUBTREEANGMOM": "angular_momentum"}
_REORDERED = {
    "BALLQUAT": "gives the quaternion as x y z w",
    "FRAMEQUAT": "gives the quaternion as x y z w",
    "BALLANGVEL": "is along the axes of the parent, not of the child",
}


class _Sensed(NamedTuple):
    """What a sensor looks at or is seen from.

    Attributes:
        kind: mjtObj.
        index: of the part.
    """

    kind: int
    index: int


class MjcfSensors:
    """MjcfSensors of a scene as they are made.

    Args:
        acts: joints and shapes, made; receives what is lost.
    """

    def __init__(self, acts: Acts):
        self.acts, self.bodies, self.source, self.model = acts, acts.bodies, acts.source, acts.model
        self.names = GivenNames(())
        self.found: dict[str, dict] = {}

    def read(self) -> None:
        """Make all of them."""
        self.bodies.read_all("sensor", self.model.nsensor, self._sensor)
        if self.found:
            self.acts.mechanism.sections["sensors"] = self.found

    def _sensor(self, s: int) -> None:
        if not self.acts.is_on("SENSOR"):
            raise LostPartError("sensors are switched off by `option`")
        kind = self.source.mujoco.mjtSensor(int(self.model.sensor_type[s])).name.removeprefix("mjSENS_")
        words = self._words(s, kind)
        self.found[self.bodies.give(self.names, "sensor", s, self.source.element("sensor", s).tag)] = words
        if kind in _REORDERED:
            self.acts.note("sensor", s, _REORDERED[kind])

    def _words(self, s: int, kind: str) -> dict:
        """What a scene says of a sensor."""
        model = self.model
        index = int(model.sensor_objid[s])
        if kind == "RANGEFINDER":
            self._check_range(s)
        if kind in SENSORS_AT_SITES:
            return {"type": SENSORS_AT_SITES[kind], "at": self.acts.shapes.places[index]}
        if kind in SENSORS_AT_OBJECTS:
            words = {"type": SENSORS_AT_OBJECTS[kind], "at": self._place(_Sensed(int(model.sensor_objtype[s]), index))}
            seen = _Sensed(int(model.sensor_reftype[s]), int(model.sensor_refid[s]))
            return words | ({"relative_to": self._place(seen)} if seen.index >= 0 else {})
        if kind in SENSORS_OF_JOINTS:
            place = self.bodies.places[index]
            if place.joint.type == "d6":
                self.acts.note("sensor", s, f"gives all coordinates of `{place.joint.name}`; its own is number {place.dof}")
            return {"type": SENSORS_OF_JOINTS[kind], "joint": place.joint.name}
        if kind in SENSORS_AT_JOINTS:
            return self._at_joint(index, SENSORS_AT_JOINTS[kind])
        if kind == "TOUCH":
            return self._touch(s, index)
        if kind in SENSORS_OF_SUBTREES:
            return self._of_subtree(index, SENSORS_OF_SUBTREES[kind])
        raise LostPartError(f"scenes have no sensor of the kind `{kind.lower()}`")

    def _check_range(self, s: int) -> None:
        """Refuse a range finder that scenes have not."""
        model, mujoco = self.model, self.source.mujoco
        is_distance = model.sensor_intprm[s, 0] == 1 << int(mujoco.mjtRayDataField.mjRAYDATA_DIST)
        if model.sensor_objtype[s] != mujoco.mjtObj.mjOBJ_SITE or model.sensor_dim[s] != 1 or not is_distance:
            raise LostPartError("finds more than a distance; sensors of the type range have one ray, of a site")
        if (model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD).any():
            raise LostPartError("sensors of the type range do not see terrain")
        if any(not shape.collides for link in self.acts.mechanism.links.values() for shape in link.shapes):
            self.acts.note("sensor", s, "does not see shapes that are only drawn")

    def _at_joint(self, site: int, type_: str) -> dict:
        link, _ = self.acts.shapes.sites[site]
        joints = (one for one in self.acts.mechanism.joints.values() if one.child == link)
        joint = next((one for one in joints if not one.words.get("loop")), None)
        if joint is None or joint.type == "free":
            raise LostPartError("no joint holds its body, so that nothing is transmitted")
        return {"type": type_, "joint": joint.name, "at": self.acts.shapes.places[site]}

    def _touch(self, s: int, site: int) -> dict:
        """The contacts on a body within the form of a site."""
        owner, _ = self.acts.shapes.sites[site]
        forms, size = self.source.mujoco.mjtGeom, self.model.site_size[site]
        form = int(self.model.site_type[site])
        if owner == WORLD_NAME or not any(shape.collides for shape in self.acts.mechanism.links[owner].shapes):
            raise LostPartError("nothing touches its body")
        if form not in (forms.mjGEOM_SPHERE, forms.mjGEOM_BOX):
            raise LostPartError("the zone of a sensor of touch is a ball or a box")
        zone = {"radius": float(size[0])} if form == forms.mjGEOM_SPHERE else {"size": list(clean_numbers(2.0 * size))}
        self.acts.note("sensor", s, "sums the contacts whose point lies in its zone, not those whose normal meets it")
        return {"type": "touch", "body": owner, "at": self.acts.shapes.places[site]} | zone

    def _of_subtree(self, b: int, type_: str) -> dict:
        name = self.bodies.names[b]
        if name == WORLD_NAME or not self.bodies.frames[b].is_identity:
            raise LostPartError("of the world, or of a body that is part of another")
        return {"type": type_, "body": name}

    def _place(self, seen: _Sensed) -> str:
        """A body, or a frame of its own for what a scene has no name for."""
        kinds, model = self.source.mujoco.mjtObj, self.model
        if seen.kind == kinds.mjOBJ_SITE:
            return self.acts.shapes.places[seen.index]
        if seen.kind in (kinds.mjOBJ_BODY, kinds.mjOBJ_XBODY):
            b = seen.index
            is_inertial = seen.kind == kinds.mjOBJ_BODY
            frame = frame_of(model.body_ipos[b], model.body_iquat[b]) if is_inertial else NO_OFFSET
            label = "inertial" if is_inertial else "body"
        elif seen.kind == kinds.mjOBJ_GEOM:
            b, frame, label = (
                int(model.geom_bodyid[seen.index]),
                frame_of(model.geom_pos[seen.index], model.geom_quat[seen.index]),
                "geom",
            )
        else:
            b, frame, label = (
                int(model.cam_bodyid[seen.index]),
                frame_of(model.cam_pos[seen.index], model.cam_quat[seen.index]),
                "camera",
            )
        frame = frame.after(self.bodies.frames[b])
        link = self.bodies.names[b]
        return link if frame.is_identity and link != WORLD_NAME else f"{link}/{self._frame(link, label, frame)}"

    def _frame(self, link: str, label: str, frame: SourceFrame) -> str:
        """The name of a frame of a link, a new one if it has none there."""
        taken = self.acts.mechanism.links[link]
        for name, one in taken.frames.items():
            if one.words == frame.words and np.array_equal(one.xyz, frame.xyz):
                return name
        name = GivenNames((*taken.points, *taken.frames)).give("", label)
        taken.frames[name] = frame
        return name
