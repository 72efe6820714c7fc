"""Affine bodies: twelve numbers each, rigidity and joints as stiff energies, contact as a barrier.

In: a Model with its affine form, options. Out: frames. Never found here: energies of contact (kernels/barrier) and of joints
(kernels/potentials).

    solver            the solver, for the host
    memory            what a run reads and writes
    programs          the lists of stages, one for each integrator
    stages            where a step begins, its formula, its targets, its work, what the next one takes
    direction         Newton's direction, by the Hessian of all energies
    newton            Newton's method along its directions: the way, its cap, the line search
    bdf_restart       steps in which forces begin or end at once
    places            affine bodies as rigid ones
    kinematic_bodies  kinematic bodies
    holds             soft holds to a pose
    drags             drag of a medium
    contact           barrier contact of a run
    frames            what a call begins with, and worlds that end
    report            frames
"""
