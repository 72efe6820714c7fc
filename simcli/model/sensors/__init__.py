"""Sensors: what looks where.

In: sensors of a scene. Out: their table. Never here: what they find (solvers/shared/probes).

    tables   sensors as a table
    reading  sensors of a scene: frames, joints, bodies of subtrees
"""
