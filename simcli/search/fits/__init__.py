"""`simcli fit`: numbers of a scene by least squares against a measured log.

In: a scene, a log, which numbers may change. Out: the numbers, and how well they are known. Never here: printing.
"""
