"""A row per world.

In: results, tables, earlier runs. Out: rows with units, as tables and files. Never here: frames over time (channels).

    measure_layouts  what a file says of the measures of a scene: units, components, words
    world_table      number, status, varied parameters and measures of each world
    world_export     tables of worlds as CSV and Parquet: what is written reads back to the bit
    samples          what a batch draws as a table, a row per world: what `simcli samples` shows and `--vary-table` takes
    earlier_runs     a column of worlds out of an earlier run: what `from` of a batch takes
"""
