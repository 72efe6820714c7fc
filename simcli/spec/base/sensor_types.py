"""What sensors give: one line for each type, which schema, checks, units, tables of the device and the page of docs read."""

from typing import NamedTuple

AT_FRAME, ON_JOINT, OF_SUBTREE, BY_CONTACTS = "at", "joint", "body", "shape"  # keys that say what a type looks at


class SensorType(NamedTuple):
    """What a type of sensor gives.

    Attributes:
        of: key that says what it looks at.
        width: numbers; 0: those of its joint.
        unit: SI; "" of a joint's own coordinates.
        words: what it gives.
        takes: other keys that say where it is.
        channel: group of results of which it is made, "" where poses and velocities are enough.
        own: quantity of its joint that it is, "" if it is none.
    """

    of: str
    width: int
    unit: str
    words: str
    takes: tuple[str, ...] = ()
    channel: str = ""
    own: str = ""


SENSOR_TYPES: dict[str, SensorType] = {
    "gyro": SensorType(AT_FRAME, 3, "rad/s", "angular velocity, in axes of the frame"),
    "accelerometer": SensorType(AT_FRAME, 3, "m/s^2", "acceleration of the origin less gravity, in axes of the frame",
                                channel="body_qdd"),
    "velocimeter": SensorType(AT_FRAME, 3, "m/s", "velocity of the origin, in axes of the frame"),
    "position": SensorType(AT_FRAME, 3, "m", "origin of the frame, seen from `relative_to`", ("relative_to",)),
    "orientation": SensorType(AT_FRAME, 4, "1", "quaternion x y z w of the frame in `relative_to`, w not negative",
                              ("relative_to",)),
    "velocity": SensorType(AT_FRAME, 3, "m/s", "velocity of the origin as seen in the moving frame `relative_to`",
                           ("relative_to",)),
    "angular_velocity": SensorType(AT_FRAME, 3, "rad/s", "angular velocity less that of `relative_to`, in its axes",
                                   ("relative_to",)),
    "encoder": SensorType(ON_JOINT, 0, "", "coordinates of the joint", channel="joints", own="q"),
    "tachometer": SensorType(ON_JOINT, 0, "", "velocities of the joint", channel="joints", own="qd"),
    "force": SensorType(ON_JOINT, 3, "N", "force of the joint on its child, in axes of the frame", ("at",), "reactions"),
    "torque": SensorType(ON_JOINT, 3, "N*m", "torque of the joint on its child about the origin of the frame, in its axes",
                         ("at",), "reactions"),
    "com": SensorType(OF_SUBTREE, 3, "m", "centre of mass of a body and all that tree joints carry on it, world"),
    "com_velocity": SensorType(OF_SUBTREE, 3, "m/s", "its velocity, world"),
    "momentum": SensorType(OF_SUBTREE, 3, "kg*m/s", "linear momentum of all these bodies, world"),
    "angular_momentum": SensorType(OF_SUBTREE, 3, "kg*m^2/s", "their angular momentum about the centre of mass, world"),
    "touch": SensorType(BY_CONTACTS, 1, "N", "sum of normal forces of contacts on a body or shape, or of those in a zone",
                        ("body", "at", "radius", "size"), "contacts"),
    "contact_force": SensorType(BY_CONTACTS, 3, "N", "sum of the forces of contacts on it, in axes of the frame, or world",
                                ("body", "at"), "contacts"),
    "range": SensorType(AT_FRAME, 1, "m", "distance of the nearest shape of another body along the z axis; -1: none",
                        ("reach",)),
}
