"""URDF to a mechanism: links, joints.

In: the root of a URDF file. Out: a mechanism, and a line of the report for each element. Never here: other files than
meshes.
"""
