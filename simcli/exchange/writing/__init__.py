"""Scenes as URDF and MJCF, with a report of every loss.

In: a scene, checked. Out: the root element of a URDF or MJCF file, the meshes that stand beside it, and a report with a line
for each element of the scene. Never here: reading of those formats.
"""
