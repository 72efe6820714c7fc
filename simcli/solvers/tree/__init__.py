"""Joint coordinates of a tree, and free bodies that rows join: the stages of a step, and the list of each integrator.

In: the core of a run. Out: frames. Never found here: constraints (rows), contacts (impulses).

    programs     the lists of stages, one for each integrator
    stages       stages of steps
    integrators  what integrators do with accelerations
    gyroscopes   bodies that turn freely in steps of first order: which, and what is kept of them
    turning      stages for their gyroscopic torques
    midpoint     velocities in the middle of a step, where links of trees turn far in it
    inverse      efforts that steps of first order took, and where they began, from what a table holds of them
    turning_back those torques from what states tell of a step, for inverse dynamics
    momenta      wrenches of joints that sum to the momentum of a step of first order
    impacts      worlds in which shapes meet within a step of several nodes
"""
