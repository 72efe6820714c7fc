"""A scene as a drawing: items, colours, cameras, of one world.

In: numbers of a model or of a file. Out: items. Never here: how they are shown.
"""
