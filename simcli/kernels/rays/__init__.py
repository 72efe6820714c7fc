"""Rays against solids: pictures without a display, and lines of sight. Never found here: scenes, files, cameras' choice.

All scenes share one kernel: numbers of solids, tiles and triangles are data. Everything is float32 in a frame whose origin
is what the camera looks at and whose unit is the size of the scene; lines of sight that are measured are in world units.
"""
