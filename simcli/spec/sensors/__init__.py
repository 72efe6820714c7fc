"""Sensors of scenes, as they are written. What their types give stands in names/sensor_types.py.

In: plain data. Out: checked parts of a scene. Never here: what they find.

    schema  schema of sensors
"""
