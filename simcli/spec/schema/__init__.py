"""The schema: every key of a scene, its type, its unit, its default and its meaning.

In: plain data of a scene. Out: frozen objects in SI, or what pydantic refuses. Never here: what follows from several keys of
different sections.
"""
