"""Impulses of joints, limits, drives and frictional contacts, found together as one complementarity problem.

In: a mass matrix, a free velocity and rows of each world (problem.py). Out: impulses, the velocity at the end of the
step, and how far they are from a solution, in m/s. Never found here: geometry, contact detection, time stepping.

Worlds of many bodies keep nothing dense, and are solved island by island: islands.py, large.py, large_problem.py, graph.py
and block_factor.py do the same for them.

Source: Rockafellar (1976) for the proximal rounds, Alart and Curnier (1991) for Newton, Boyd et al. (2011) for the sweeps.
"""
