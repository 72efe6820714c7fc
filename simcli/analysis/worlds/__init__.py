"""A row per world.

In: results, tables, earlier runs. Out: rows with units, as tables and files. Never here: frames over time (channels).
"""
