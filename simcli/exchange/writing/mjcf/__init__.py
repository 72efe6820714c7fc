"""Scenes as MJCF, the format of MuJoCo.

In: a scene that is written. Out: its root element. Never here: reading of MJCF.

    model   the file as a whole
    parts   the parts of a file as they are written: sections, bodies, sites, controls
    tree    bodies within each other, with joints and points
    shapes  geoms, and assets
    touch   which geoms touch
    acts    loops, gears, tendons, actuators
    sensors sensors, by the tables of those that are read
    start   the state in which a run begins, and keyframes
"""
