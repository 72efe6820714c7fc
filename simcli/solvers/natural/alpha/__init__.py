"""Steps of generalized_alpha in natural coordinates: of second order, with damping of what the steps do not resolve.

In: the core of a run whose rows are polynomials. Out: its coordinates and velocities after a step.

    generalized_alpha  the stages
    balance            what equations and rows lack in a round
    forces             forces, and the stiffness that the iteration includes
    prescribed_rows    prescribed motions of joints
    work               the work of prescribed motions
"""
