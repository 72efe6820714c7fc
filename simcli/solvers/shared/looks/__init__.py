"""What a run looks at besides its frames: measures, and ends of worlds that depend on them.

In: the core of a run. Out: rows of quantities and what worlds have found. Never here: the files (records).

    sensor_formulas  what sensors find in the poses, velocities and forces of a frame: a formula for each type
    sensors          sensors on the device: what each looks at
    touch_sensors    sensors of touch: sums of contacts on a body or a shape
    range_sensors    range finders: how far shapes are along an axis
    noise            what sensors show of what they find: white noise, bias, steps of a converter, sampling, delay
    gauges           where what a run looks at stands on the device: rows of quantities
    reductions       what becomes of the numbers of a measure, step by step: extremes, sums, crossings; see measures.py
    aside            what steps go on from, and frames overwrite
    loop_guard       loops of signals that drive themselves by their samples, which ends their worlds
    measures         quantities that a run looks at, on the device: what a look at the end of a step adds to each
"""
