"""Energies of affine bodies with their gradient and Hessian, from the rows of model/forms/affine_energy.py.

    V = sum k phi^2 / 2 + sum V(x(phi)) + sum V(sqrt(phi)),   phi polynomials of second degree

    tables           what is read and kept: Potential
    potential_terms  an energy and its derivatives
    laws             what acts on a coordinate, V(x): Laws
    bounds           what is held until nothing gives: limits, motions
    bdf_history      coordinates from step to step
    coordinates      coordinates of joints from their rows, and the laws there
    gears            between two coordinates
    arms             gradients of sums over several rows, and their products in the Hessian
    cables           springs over pulleys: sums of lengths
    springs          lengths of springs from their rows, and V there
    energy           the doors: find_energy, find_slopes, add_gradient, add_hessian

In: coordinates of affine bodies. Out: energies [J], gradient, Hessian, work of a step. Never found here: inertia, contact,
time stepping.
"""
