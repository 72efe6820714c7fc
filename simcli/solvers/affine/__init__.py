"""Affine bodies: twelve numbers each, rigidity and joints as stiff energies, contact as a barrier.

In: a Model with its affine form, options. Out: frames. Never found here: energies of contact (kernels/barrier) and of joints
(kernels/potentials).
"""
