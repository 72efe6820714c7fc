"""`simcli sweep`: many batches with a ledger.

In: scenes, sweep files, folders of sweeps. Out: progress, states, tables. Never here: the sweep itself (sweeps).

    sweep          `simcli sweep` and its commands `table` and `check`
    sweep_options  options of `simcli sweep run`
    sweep_text     what is said of a sweep while it runs, and at its end
    sweep_run      `simcli sweep run`
    sweep_status   `simcli sweep status`
"""
