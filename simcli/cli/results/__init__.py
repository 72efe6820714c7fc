"""Commands on files that runs have left.

In: results. Out: text, pictures, other files. Never here: kernels.
"""
