"""Commands on states: kinematics, dynamics, equilibria and small motions.

In: scenes, files of states. Out: tables and files of results. Never here: the algorithms.
"""
