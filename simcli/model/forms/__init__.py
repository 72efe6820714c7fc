"""Forms of a model that solvers step: maximal, combined, natural, and the energies of affine bodies.

In: a Model. Out: the same in other coordinates, with its rows. Never here: barriers, steps.
"""
