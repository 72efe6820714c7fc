"""URDF to a mechanism: links, joints.

In: the root of a URDF file. Out: a mechanism, and a line of the report for each element. Never here: other files than
meshes.

    reading   the file as a whole
    source    a URDF file as it is read: numbers, poses, what was looked at
    links     links: mass, shapes, materials
    joints    joints: types, axes, limits, losses, gears
"""
