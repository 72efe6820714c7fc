"""Runs in the files of other programs.

In: an open `Trajectory` and what of it is wanted. Out: a file, whole or not at all. Never found here: what a channel means
(`analysis.channels`), printing.

    tables      channels and contacts as columns, block by block
    csv_text    .csv
    json_lines  .jsonl
    parquet     .parquet
    npz         .npz
    opensim     .sto, .mot
    vtk         .pvd with a folder of .vtp

`simcli.cli.results.export_formats` has the table of suffixes; `simcli.view.glb` writes .glb, because it draws.
"""
