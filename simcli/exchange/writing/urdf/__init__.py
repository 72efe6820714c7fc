"""Scenes as URDF.

In: a scene that is written. Out: its root element. Never here: reading of URDF.

    model   the file as a whole, links
    joints  joints, as chains of one axis each
    shapes  collision and visual elements
"""
