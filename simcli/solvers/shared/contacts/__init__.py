"""Contacts as frames show them.

In: contacts of the last step. Out: rows of contacts, counts and forces of bodies. Never here: their solution (impulses).

    touches  contacts of a frame, summed by bodies: how many, and the force of all of them
    stated   the contacts of the step that a solver took last, as numpy sees them: for oracles and benchmarks
    report   contacts of a frame on their way out, and what steps have left unsolved
"""
