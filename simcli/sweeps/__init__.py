"""SWEEPS: many batches as one, with a ledger.

Comes in: a scene, or a sweep file over scenes. Goes out: a folder with a ledger, a result file per chunk, and one table.
Never found here: physics, the reading of scenes (spec), printing (cli).

What is to be run, and what came of it:
    plan         what is to be run: cases by name, in chunks of one batch each
    scenes       a sweep file, and its scenes with all combinations of choices
    names        names of cases: what must be equal for a result to be that of a case
    sizes        how many cases make a chunk, and what a plan will take
    forecast     what a plan will take, before it is run
    plan_file    a plan as a file beside the ledger
    chunk_run    one chunk through the pipeline, its file whole or not there
    table        what came of it: a row per case
    whole        is what the folder holds whole, and all there

Who does the work, and how nothing is lost:
    identity     a process on a machine, so that others can tell whether it lives
    ledger       what happened, line by line, in one file per writing process
    state        what all ledgers of a folder say of each case
    claims       which process is at which chunk
    wire         tasks and results as plain JSON
    executors    what the driver wants of those who do the work
    worker       the process that runs chunks
    pool         processes of this machine
    provenance   which simcli this is
    bundle       a scene with all that it needs, to be sent
    cluster_task what a worker of a Dask cluster does
    cluster      a Dask cluster
    shards       the part of a sweep that is one machine's
    agenda       which chunk is next, and what is tried again
    driver       the sweep as a loop: take a chunk, note what came of it
    status       how a sweep stands, seen from outside
    in_python    a sweep as a call
"""
