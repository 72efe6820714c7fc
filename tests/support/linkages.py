"""Linkages with their closed forms: drawn at some pose, in any plane, closed by any of their joints."""

import numpy as np

LOOPS = 4  # hinges of a four-bar: the one that closes it is one of those behind the crank's


def turn_about(axis, angle):
    """Rotation matrix (Rodrigues)."""
    axis = np.array(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def body_at(place):
    """A body of some mass."""
    return {"pose": {"xyz": [float(x) for x in place]}, "mass": 1.0, "inertia": {"diag": [0.02, 0.03, 0.04]}}


def elbow(lengths, crank, side):
    """Ends of the coupler of a four-bar in the plane x, z, (2,) each: crank angle about +y, side of the line between."""
    ground, a, b, c = lengths
    B, D = a * np.array([np.cos(crank), -np.sin(crank)]), np.array([ground, 0.0])
    along = D - B
    length = np.hypot(*along)
    along, across = along / length, np.array([-along[1], along[0]]) / length
    x = (b * b - c * c + length**2) / (2 * length)
    return B, B + x * along + side * np.sqrt(b * b - x * x) * across


def four_bar_angles(lengths, drawn, side, crank):
    """[rad] of coupler joint and rocker, without full turns, for a crank that has turned from where it is drawn."""

    def absolute(angle):
        B, C = elbow(lengths, angle, side)
        D = np.array([lengths[0], 0.0])
        return [-np.arctan2(*(end - start)[::-1]) for start, end in ((B, C), (D, C))]

    (coupler, rocker), (coupler_0, rocker_0) = absolute(drawn + crank), absolute(drawn)
    return np.array([coupler - coupler_0 - crank, rocker - rocker_0])


def four_bar_of(prefix, lengths, drawn, side, R=None, loop="c", at=(0, 0, 0), **first):
    """Bodies and joints of a four-bar: joint a turns the crank, b the coupler on it, d the rocker, c closes it."""
    R, at = np.eye(3) if R is None else R, np.array(at, float)
    B, C = elbow(lengths, drawn, side)
    A, B, C, D = (at + R @ np.array([x, 0, z]) for x, z in ((0, 0), B, C, (lengths[0], 0)))
    crank, coupler, rocker = (f"{prefix}_{name}" for name in ("crank", "coupler", "rocker"))
    bodies = {crank: body_at((A + B) / 2), coupler: body_at((B + C) / 2), rocker: body_at((C + D) / 2)}
    ends = {"a": ("world", crank, A), "b": (crank, coupler, B), "d": ("world", rocker, D), "c": (coupler, rocker, C)}
    joints = {
        f"{prefix}_{name}": {
            "type": "revolute",
            "parent": parent,
            "child": child,
            "at": place.tolist(),
            "axis": (R @ [0, 1, 0]).tolist(),
        }
        for name, (parent, child, place) in ends.items()
    }
    joints[f"{prefix}_{loop}"]["loop"] = True
    joints[f"{prefix}_a"] |= first
    return bodies, joints


def slider_crank_of(prefix, crank, rod, drawn, R=None, at=(0, 0, 0)):
    """Bodies and joints of a slider-crank: a turns the crank, d is the slide along x, c closes it."""
    R, at = np.eye(3) if R is None else R, np.array(at, float)
    x, z = crank * np.cos(drawn), -crank * np.sin(drawn)
    A, B, C = (at + R @ np.array(place) for place in ((0, 0, 0), (x, 0, z), (x + np.sqrt(rod**2 - z**2), 0, 0)))
    link, bar, slider = (f"{prefix}_{name}" for name in ("crank", "rod", "slider"))
    bodies = {link: body_at((A + B) / 2), bar: body_at((B + C) / 2), slider: body_at(C)}
    hinge = {"type": "revolute", "axis": (R @ [0, 1, 0]).tolist()}
    joints = {
        f"{prefix}_a": hinge | {"parent": "world", "child": link, "at": A.tolist()},
        f"{prefix}_b": hinge | {"parent": link, "child": bar, "at": B.tolist()},
        f"{prefix}_d": {
            "type": "prismatic",
            "parent": "world",
            "child": slider,
            "at": C.tolist(),
            "axis": (R @ [1, 0, 0]).tolist(),
        },
        f"{prefix}_c": hinge | {"parent": bar, "child": slider, "at": C.tolist(), "loop": True},
    }
    return bodies, joints


def slide_of(crank, rod, drawn, turn):
    """[m] of the slide on the branch with the slider ahead of the crank, from where it is drawn."""

    def ahead(angle):
        return crank * np.cos(angle) + np.sqrt(rod**2 - (crank * np.sin(angle)) ** 2)

    return ahead(drawn + turn) - ahead(drawn)
