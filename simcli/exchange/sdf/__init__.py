"""SDF to a mechanism: models, links, frames, joints, closed loops.

In: the root of an SDF file. Out: a mechanism, and a line of the report for each element. Never here: other
files than meshes and the models that it includes.
"""
