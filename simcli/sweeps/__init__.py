"""Sweeps: many batches as one, with a ledger.

Comes in: a scene, or a sweep file over scenes. Goes out: a folder with a ledger, a result file per chunk, and one table.
Never found here: physics, the reading of scenes (spec), printing (cli).

    planning       what is to be run: cases by name, in chunks of one batch each
    records        what has happened, so that nothing is lost and nothing done twice
    executors      who does the work: processes of this machine, or a Dask cluster
    chunk_queue    which chunk is next, and what is tried again
    sweep_options  how a sweep is driven, how far it is, and what it came to
    folder         whether a folder is that of a sweep, and what of it can be believed
    driver         the sweep as a loop: take a chunk, note that it has begun, note what came of it, until there is none left
    status         how a sweep stands, out of its folder alone: for whoever looks from outside
    table          what came of a sweep: a row per case, of the plan and the results alone
    whole          is what the folder of a sweep holds whole, and all there?
    in_python      a sweep as a call: `simcli.sweep`
"""
