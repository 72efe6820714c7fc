"""Signals: functions of time, feedback, and what they drive.

In: signals of a scene, CSV files. Out: their tables, and the wiring by index. Never here: their values on the device.
"""
