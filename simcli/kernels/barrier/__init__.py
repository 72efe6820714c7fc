"""Barrier contact: surfaces that never meet, by an energy that grows without bound as they come near.

In: positions of affine bodies, x = p + y_1 a_1 + y_2 a_2 + y_3 a_3. Out: energies [J], gradients and curvature per body, and
the part of a step that is free of contact. Never found here: inertia, time stepping, the linear system.

All work goes lane by lane in a fixed order, so that a world's numbers do not depend on its neighbours.
"""
