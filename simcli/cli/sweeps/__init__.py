"""`simcli sweep`: many batches with a ledger.

In: scenes, sweep files, folders of sweeps. Out: progress, states, tables. Never here: the sweep itself (sweeps).
"""
