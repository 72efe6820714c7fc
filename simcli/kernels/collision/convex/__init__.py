"""Two convex shapes: their distance or depth, and their points of contact.

In: cores of two shapes at poses. Out: a normal, a distance, facing features. Never here: which pairs are tried (detect).

    support   the farthest point of a shape's core along a direction
    simplex   the point of a triangle that is nearest to the origin
    gjk       distance of two convex cores (GJK), on the set of differences a - b of their points
    epa       depth of two overlapping convex cores (EPA)
    orient    on which side of a triangle's plane a point lies, exactly
    polytope  a polytope that grows by corners
    features  the feature of a shape that faces a direction: a polygon, an edge or a point
    edges     lines along which two shapes touch
    manifold  points of contact of two convex shapes along a known normal: their facing features
    pair      two convex shapes: how far apart and along which normal, then the points of contact
"""
