"""Impulses of joints, limits, drives and frictional contacts, found together as one complementarity problem.

In: a mass matrix, a free velocity and dense rows of each world (problem.py). Out: impulses, the velocity at the end of the
step, and how far they are from a solution, in m/s. Never found here: geometry, contact detection, time stepping.

    problem     what is given and found, its memory, and what is prepared once
    dense       Cholesky and LU factors of dense matrices of packs
    cones       projections, and functions whose root is the law of a row or of a contact
    measure     the velocity that impulses give, and its natural map
    newton      the condensed step and its line search
    admm        sweeps that come near from everywhere
    solve       the schedule of these, and the proximal rounds

Source: reference/contact-solver.md (PAN: proximal, condensed, non-smooth Newton with an ADMM safety net).
"""
