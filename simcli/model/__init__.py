"""Meaning to numbers.

Comes in: a SceneSpec (names, SI floats). Goes out: a Model of read-only numpy tables, the joint catalogue, topology,
mass properties, and what `simcli show` prints. Never found here: text and marks of scene files, Taichi, time stepping.
"""
