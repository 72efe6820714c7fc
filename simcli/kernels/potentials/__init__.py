"""Energies of affine bodies with their gradient and Hessian, from the rows of model/forms/affine_energy.py.

    V = sum k phi^2 / 2 + sum V(x(phi)) + sum V(sqrt(phi)),   phi polynomials of second degree

In: coordinates of affine bodies. Out: energies [J], gradient, Hessian, work of a step. Never found here: inertia, contact,
time stepping.
"""
