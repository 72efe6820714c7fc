"""What is to be run, and what has happened, so that nothing is lost and nothing done twice.

In: a sweep file, the files of a folder. Out: a plan, a ledger, claims, and the state that they make. Never here: who does
the work (executors).
"""
