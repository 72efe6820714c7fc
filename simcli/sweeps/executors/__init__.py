"""Who does the work: processes of this machine, or a Dask cluster.

In: chunks as plain JSON. Out: what came of each. Never here: which chunk is next (chunk_queue, driver).
"""
