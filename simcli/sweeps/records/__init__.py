"""What has happened, so that nothing is lost and nothing done twice.

In: events of any number of processes. Out: lines of ledgers, claims, the state of each case. Never here: who does the work.

    identity  a process on a machine, so that others can tell whether it lives
    ledger    what happened in a sweep, line by line: appended, checksummed, synced; one file per writing process
    claims    which process is at which chunk: an exclusive file per chunk, and a heartbeat per process
    state     what all ledgers of a folder say of each case
"""
