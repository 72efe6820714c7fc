"""A mechanism at rest, and its small motions.

In: a scene. Out: equilibria, modes, prestress. Never here: time stepping.
"""
