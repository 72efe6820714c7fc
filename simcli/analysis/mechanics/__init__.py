"""Kinematics and dynamics of states.

In: a model and states. Out: poses, efforts, matrices, as arrays and tables. Never here: the algorithms (kernels).

    rounds             the rigid-body algorithms for states of any worlds
    tasks              a task of the commands: states in, results out; what all of them share
    kinematic_tasks    forward kinematics and the projection of poses
    dynamic_tasks      inverse dynamics, mass matrices and Jacobians
    verdicts           the largest of what all states have, kept while they pass: residuals of a projection
    result_tables      results as CSV: one row per state, the columns of `columns`, which the commands read back
    differentiate      rates and accelerations of a table of coordinates over time, by splines
    evaluate           kinematics and dynamics of states from Python: whole models here
    view_shape         what an ArticulationView shows, in counts and names
    view_data          what an ArticulationView reads and writes
    articulation_view  ArticulationView: articulations of one structure as arrays
"""
