"""Commands that run many batches: sweeps with a ledger, and searches for numbers of a scene in rounds of one batch each.

In: scenes, sweep files, folders of sweeps, what is wanted. Out: progress, states, tables, numbers, a scene. Never here: the
sweep itself (sweeps), and how numbers are found (search).
"""
