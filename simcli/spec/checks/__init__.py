"""Checks of a scene that passed the schema, and which solver supports which field.

In: a SceneSpec and its tree. Out: faults, and the page of supported fields. Never here: numbers of a model; what needs
them is refused there.
"""
