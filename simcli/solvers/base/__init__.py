"""What all solvers stand on: the clock, what a run asks for, how worlds end, integrators, and freely turning bodies.

Never found here: rows, contacts, coordinates of one solver.
"""
