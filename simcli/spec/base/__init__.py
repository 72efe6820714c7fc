"""What the rest of the room stands on: files and their text, the marked tree, the list of faults, and names.

Never here: units, the schema, what a scene means.
"""
