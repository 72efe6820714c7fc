"""What can touch, and how.

In: shapes, materials and `contact` of a scene. Out: colliders, surfaces, pairs and their numbers, and what overlaps where a
run begins. Never here: what touches in a run, which kernels find.

    tables     tables of contact: which shapes can touch, and with which numbers
    colliders  shapes as the narrow phase reads them: frames in links, half extents, rounding
    pairs      which shapes of a scene can touch
    numbers    the numbers of shapes that can touch: what their materials combine to, what `contact.pairs` says
    surfaces   surfaces of shapes as the barrier sees them: vertices, edges and triangles, and a radius about them
    overlaps   how deep shapes overlap where a run begins
    crossings  which pairs of shapes cut each other: edges through triangles, points below planes
"""
