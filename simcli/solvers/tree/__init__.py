"""Joint coordinates of a tree, and free bodies that rows join: the stages of a step, and the list of each integrator.

In: the core of a run. Out: frames. Never found here: constraints (rows), contacts (impulses).
"""
