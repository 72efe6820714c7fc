"""Constraint rows and laws of a model.

In: a Model with its tree. Out: tables of rows, which any solver reads. Never here: their values, which kernels find.

    tables           constraint rows of a model: loop joints, gears, and the coordinates that laws bound
    coordinate_rows  rows whose residual is a coordinate of a joint outside the tree: what laws and motions act on
    collected        pairs of anchors, rows and laws of a model as they are found, joint by joint
    build            the same laid out as tables
    places           where rows belong: their pairs of anchors, the dofs whose coordinates they are
"""
