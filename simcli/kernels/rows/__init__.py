"""Constraint rows and laws of coordinates, and the constrained system that both make with the mass matrix.

In: poses and twists of links, or natural coordinates; a coordinate and its rate. Out: residuals and rates of rows, what
their multipliers give links (J^T lambda), what acts on a coordinate, and accelerations. Never here: contacts
(complementarity).
"""
