"""Runs in the files of other programs.

In: an open `Trajectory` and what of it is wanted. Out: a file, whole or not at all. Never found here: what a channel means
(`analysis.channels`), printing.

    files       a file is written whole or not at all
    tables      channels and contacts as columns, block by block
    formats     suffix to writer: the one table of formats
    csv_text    .csv
    json_lines  .jsonl
    parquet     .parquet
    npz         .npz
    opensim     .sto, .mot
    vtk         .pvd with a folder of .vtp
"""

from simcli.analysis.export.files import written

__all__ = ["written"]
