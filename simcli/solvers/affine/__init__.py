"""Affine bodies: twelve numbers each, rigidity and joints as stiff energies, contact as a barrier.

In reading order: solver, memory, programs (the lists), stages, newton, breaks, places (as rigid ones), given (kinematic),
holds, contact, frames, report.
"""
