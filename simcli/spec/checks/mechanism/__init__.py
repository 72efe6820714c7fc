"""Checks of the mechanism: bodies, joints, forces, and what a solver asks of them.

In: a Checker. Out: faults. Never here: who supports what (capabilities).

    physics   physics of bodies and joints: masses, inertias, limits, axes, and the shape of the mechanism
    plane     planar scenes: bodies, anchors and axes stay in the plane
    gears     gears (`mimic`): joints that can follow each other, without circles
    sensors   what sensors name: frames, joints and bodies that are there
    signals   signals fit what they drive: as many numbers, and of the same dimension
    feedback  what the formulas of signals name is there and can be seen, and samples come at whole steps
    motions   prescribed motions: positions that jump are refused; when rates do
    touching  whether anything of a scene can touch, as far as names tell; contact_pairs.py of the model knows it in full
    barrier   what barrier contact does not know: refused by name
    natural   natural coordinates as written: a kind that fits the scene, as many points and vectors as it has
    affine    what the affine solver asks of joints that are driven, stiff or loaded
"""
