"""The device: where kernels run, and the memory of all worlds on it: tables, programs of stages, sparse matrices.

In: a wish for a device; shapes and numbers of a model. Out: a started Taichi; arrays, tables, and stages that take them.
Never here: what kernels compute of mechanics.
"""
