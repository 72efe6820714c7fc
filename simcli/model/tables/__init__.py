"""The model as read-only numpy tables, and numbers of many scenes or models as columns of them.

In: nothing of the room. Out: `Model` and its tables, `Worlds`. Never here: what the numbers mean together.
"""
