"""Constraint rows and laws of a model, and what follows from them: mobility, bodies and coordinates that need them.

In: a Model with its tree. Out: tables of rows, which any solver reads. Never here: their values, which kernels find.
"""
