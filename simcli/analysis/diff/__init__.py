"""What differs between two runs: scenes, versions, names, and numbers by frame, world and name; the error of a step.

In: two runs, or three of one scene at finer steps. Out: differences, an estimate of the error. Never here: what a person
reads of them.
"""
