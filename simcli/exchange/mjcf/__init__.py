"""MJCF to a mechanism, by way of the model that MuJoCo compiles.

In: an MJCF file, with what it includes. Out: links, joints, shapes, forces and sections of a scene; an entry of the
report for each element of the file. Never here: the text of a scene. MuJoCo is imported in one place, and a scene needs
it no more.
"""
