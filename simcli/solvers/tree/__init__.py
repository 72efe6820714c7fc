"""Joint coordinates of a tree, and free bodies that rows join: the stages of a step, and the list of each integrator.

In reading order: programs, stages, integrators.
"""
