"""Who does the work: processes of this machine, or a Dask cluster.

In: chunks as plain JSON. Out: what came of each. Never here: which chunk is next (chunk_queue, driver).

    contract      what the driver wants of those who do the work, and what it hears of them
    wire          tasks and results as plain JSON: nothing that comes back from a worker is ever unpickled
    chunk_run     one chunk as one batch through the pipeline; its result is there whole, or not at all
    worker        the process that runs chunks: `python -m simcli.sweeps.executors.worker DESCRIPTOR PARENT`
    pool          processes of this machine that run chunks
    bundle        a scene with all that it needs, to be sent to machines that do not see its folder
    cluster_task  what a worker of a Dask cluster does
    cluster       a Dask cluster: whatever has a scheduler's address or file looks alike
"""
