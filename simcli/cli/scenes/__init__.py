"""Commands on scenes and on the tool itself, without a run.

In: scene files, names of pages. Out: verdicts, pages, schemas. Never here: runs, results.
"""
