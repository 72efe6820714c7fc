"""Contacts of shapes: poses in, one table of contacts per world out. Never found here: forces, time stepping.

A solver makes a `Collider(model, tables, arena)`, builds the arena and then `collider.notes`, writes `collider.margin`, and
in its kernel calls `place_shapes` and `detect` for a block; then `collider.contacts` holds the contacts of its worlds.
Friction and restitution are columns of the collider by combination: `one(c.friction, w, lane, combination)`. A world of
which `needed` exceeds the capacity has lost contacts. Features and core points are for warm starts and for gaps within a
step.

Every shape is a core and a radius about it: that of spheres and capsules, and margins (`collider.radius_in`). The normal
points from shape a to shape b.
"""
