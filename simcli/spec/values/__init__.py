"""Numbers: as they are written, with units, in expressions and tables, and as they differ between worlds.

In: texts of a scene, a node of its tree. Out: numbers in SI, or faults. Never here: what a number is for.
"""
