"""Contacts of shapes: poses in, one table of contacts per world out. Never found here: forces, time stepping.

    tables     what is read and written: Collider, ContactTable
    rule       which shapes can touch, the order of their pairs, and their radii in them; barriers go by it, too
    detect     the door: place_shapes, detect; boxes of shapes find the pairs, each pair goes to its routine
    lanes      single worlds out of packs: what follows branches, so it goes lane by lane on scalars
    planes     a half space against anything
    rounds     spheres and capsules; a ball against a box or a cylinder
    boxes      separating axes of two boxes
    terrain    prisms below the triangles of terrain
    convex     two convex shapes: distance, depth, points of contact; a room of its own
    points     candidates of a pair, the choice among them
    table_rows rows of the table, from the points that were found
    rays       a ray against a shape: the stretch of it that is inside
    clearance  the smallest distance of two bodies
    finder     contacts of one model at given poses, for who takes no steps

A solver makes a `Collider(model, tables, arena)`, builds the arena and then `collider.notes`, writes `collider.margin`, and
in its kernel calls `place_shapes` and `detect` for a block; then `collider.contacts` holds the contacts of its worlds.
Friction and restitution are columns of the collider by combination: `one(c.friction, w, lane, combination)`. A world of
which `needed` exceeds the capacity has lost contacts. Features and core points are for warm starts and for gaps within a
step.

Every shape is a core and a radius about it: that of spheres and capsules, and margins (`rule.radius_in`).
The normal points from shape a to shape b.
"""
