"""From the file as written to the tree that is simulated, of the scene and of one world of its batch.

In: a marked tree. Out: the same without defaults, models, instances and expressions. Never here: checks.
"""
