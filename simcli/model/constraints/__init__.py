"""Constraint rows and laws of a model.

In: a Model with its tree. Out: tables of rows, which any solver reads. Never here: their values, which kernels find.

    coordinate_rows  rows whose residual is a coordinate of a joint outside the tree: what laws
    places           where rows belong: their couples, the dofs whose coordinates they are
    tables           constraint rows of a model: loop joints, gears, and the coordinates that laws bound
    build            rows and laws of a model: what constrains the coordinates of its tree, joint by joint (tables.py)
"""
