"""SWEEPS: many batches as one, with a ledger.

Comes in: a scene, or a sweep file over scenes. Goes out: a folder with a ledger, a result file per chunk, and one table.
Never found here: physics, and the reading of scenes (spec), printing (cli).

In reading order:
    plan         what is to be run: cases by name, in chunks of one batch each
    chunk_run    one chunk through the pipeline, its file whole or not there
    table        what came of it: a row per case
"""
