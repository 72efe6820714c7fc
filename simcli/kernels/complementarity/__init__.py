"""Impulses of joints, limits, drives and frictional contacts, found together as one complementarity problem.

In: a mass matrix, a free velocity and rows of each world (problem.py). Out: impulses, the velocity at the end of the
step, and how far they are from a solution, in m/s. Never found here: geometry, contact detection, time stepping.

    problem     what is given and found, its memory, and what is prepared once
    preparation  what the rounds share, and what each of them begins with
    dense       Cholesky and LU factors of dense matrices of packs
    cones       projections, and functions whose root is the law of a row or of a contact
    measure     the velocity that impulses give, and its natural map
    condensed   the matrix of a condensed step, and what of it has changed
    newton      the condensed step and its line search
    admm        ADMM iterations, which come near from everywhere
    solve       the schedule of these, and the proximal rounds

Worlds of many bodies keep nothing dense, and do the same with

    large           what rows and contacts see of their bodies, and the masses of these
    large_problem   what is prepared once, and the condensed matrix by its products and by its blocks
    graph           which bodies are coupled, and an order of elimination
    block_factor    factors of blocks of bodies
    krylov          velocities by these factors, or where they have no room by GMRES

Source: Rockafellar (1976) for the proximal rounds, Alart and Curnier (1991) for Newton, Boyd et al. (2011) for the sweeps.
"""
