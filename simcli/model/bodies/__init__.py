"""Bodies: mass, shapes, points, and which of their shapes can touch.

In: bodies, shapes, materials and `contact` of a scene. Out: mass properties, meshes, hulls; colliders, surfaces, pairs and
their numbers, and what overlaps where a run begins. Never here: joints, what touches in a run.
"""
