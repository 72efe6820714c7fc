"""What a file holds, as data: its datasets and their shapes, digests, the scene inside, results of commands on states.

In: nothing from disk but what is handed over. Out: rows of the layout and their bytes. Never here: what opens a file.
"""
