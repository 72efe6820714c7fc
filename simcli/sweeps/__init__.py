"""SWEEPS: many batches as one, with a ledger.

Comes in: a scene, or a sweep file over scenes. Goes out: a folder with a ledger, a result file per chunk, and one table.
Never found here: physics, the reading of scenes (spec), printing (cli).

In reading order:
    plan         what is to be run: cases by name, in chunks of one batch each
    scenes       a sweep file, and its scenes with all combinations of choices
    names        names of cases: what must be equal for a result to be that of a case
    sizes        how many cases make a chunk, and what a plan will take
    plan_file    a plan as a file beside the ledger
    chunk_run    one chunk through the pipeline, its file whole or not there
    table        what came of it: a row per case
    whole        is what the folder holds whole, and all there
"""
