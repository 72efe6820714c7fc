"""Kinematics and dynamics of states.

In: a model and states. Out: poses, efforts, matrices, as arrays and tables. Never here: the algorithms (kernels).
"""
