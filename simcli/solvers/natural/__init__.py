"""Points and vectors as coordinates: a constant mass matrix, rigidity and joints as rows.

In: a Model in its natural form, options. Out: frames. Never found here: the rows themselves (kernels/rows/quadratic.py).
"""
