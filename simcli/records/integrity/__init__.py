"""Is a file whole, does it equal another, can it be repaired?

In: paths. Out: problems as text, differences bit by bit, a repaired file.
"""
