"""Affine bodies: twelve numbers each, rigidity and joints as stiff energies, contact as a barrier.

In reading order: solver, core, step, newton, places (as rigid ones), given (kinematic ones), holds, contact, breaks, frames,
report.
"""
