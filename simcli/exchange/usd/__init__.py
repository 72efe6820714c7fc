"""USD with UsdPhysics to a mechanism: layers, prims, bodies with shapes and masses, joints, what touches.

In: the path of a USD file. Out: a mechanism, and a line of the report for each prim, each attribute that is written and each
schema that is applied. Never here: files outside of the folder of the model, meshes in files of their own.
"""
