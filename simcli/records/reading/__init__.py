"""Files opened by name, checked before anything in them is believed.

In: a path. Out: a `Trajectory` or `Results`, lazily. Never here: what changes a file.
"""
