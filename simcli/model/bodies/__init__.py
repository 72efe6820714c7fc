"""Bodies: mass, shape, points.

In: bodies of a scene. Out: mass properties, meshes, hulls. Never here: joints, who touches whom.

    tables       bodies, their shapes and their points, as tables
    points       named points of bodies
    inertia      mass, centre of mass and inertia of solids, their sums and changes of frame
    mesh         closed triangle meshes: reading OBJ and STL, checking, mass properties by the divergence theorem
    terrain      heights of terrain from files: numbers, or the greys of a picture
    hull         convex hull of points in space: vertices, and faces as flat polygons
    body_inputs  bodies of a scene: mass properties from what is written or from shapes, and the table of shapes
    massless     bodies that lack inertia by themselves, and the joints that carry them
    refusals     bodies that lack inertia where something would move them, refused with what to do
"""
