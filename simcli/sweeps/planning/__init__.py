"""What is to be run: cases by name, in chunks of one batch each.

In: a scene or a sweep file. Out: a plan, its file, what it will take. Never here: runs.

    provenance  which simcli this is: what the names of cases rest on, and what workers elsewhere must have as well
    names       names of cases: digests of all that decides about the numbers of a result
    scenes      the scenes of a sweep: a sweep file read, and every combination of its choices understood
    sizes       how many cases make a chunk, and what a plan will take: from the scene alone, the same on every machine
    plan        what is to be run: cases by name, in chunks of one batch each
    plan_file   a plan as a file beside the ledger: what the table and the checks of a folder go by
    forecast    what a plan will take: cases, chunks, bytes, hours
    shards      the part of a sweep that is one machine's, by a rule that does not depend on what is done
"""
