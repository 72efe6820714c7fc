"""Runs in the files of other programs, as pictures, and as runs made of parts of others.

In: a trajectory and what is wanted of it, or a table of worlds. Out: a file. Never here: what a channel means.
"""
