"""The state in which a run begins: loops closed, velocities of least kinetic energy, limits kept. Plain numpy.

Comes in: a model as the scene wrote it. Goes out: the model with the joint coordinates and velocities of t = 0, and what
was done (`start_tables.Beginning`). All solvers begin there. A world comes out the same alone and in any batch.

Continuation goes from the drawing to what is written. Worlds, and groups of loops that have no dof in common, do not know
of each other.
"""
