"""Barrier contact: surfaces that never meet, by an energy that grows without bound as they come near.

    closest     nearest points of two features (point, edge, triangle, half space), and how they slide
    law         the barrier, the mollifier of parallel edges, friction that sticks; friction of joints
    tables      what is read and kept: Barrier
    sweep       pairs of features whose swept boxes come near: the candidates of a world, in the order of collision/rule.py
    advance     how far a step may go before anything touches
    pieces      energy, gradient and curvature of one contact, as sums of squares on two bodies
    nearest     which of the triangles of a flat face counts
    anchors     what contacts remember: how far each is from where it stuck
    friction    what is kept of the contacts at the start of a step, and its pieces
    stencils    the corners of candidates, in the world and in their bodies
    touch       a contact as it is told
    contact     the solver's doors: reach, measure, add

In: positions of affine bodies, x = p + y_1 a_1 + y_2 a_2 + y_3 a_3. Out: energies [J], gradients and curvature per body, and
the part of a step that is free of contact. Never found here: inertia, time stepping, the linear system.

All work goes lane by lane in a fixed order, so that a world's numbers do not depend on its neighbours.
"""
