"""The one problem of a step in which something can touch: joints, laws and contacts together, solved for impulses.

In: the core of a run. Out: velocities and impulses of a step. Never found here: the solution (kernels/complementarity).
"""
