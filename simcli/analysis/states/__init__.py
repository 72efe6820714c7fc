"""States that somebody has, or that a run went through.

In: a scene or a result, tables of states. Out: a model and states in portions. Never here: what is computed of them.
"""
