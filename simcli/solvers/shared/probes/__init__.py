"""What a run probes besides its frames: measures, and ends of worlds that depend on them.

In: the core of a run. Out: rows of quantities and what worlds have found. Never here: the files (records).

    sensor_formulas  what sensors find in the poses, velocities and forces of a frame: a formula for each type
    sensors          sensors on the device: what each measures
    touch_sensors    sensors of touch: sums of contacts on a body or a shape
    range_sensors    range finders: how far shapes are along an axis
    noise            what sensors show of what they find: white noise, bias, steps of a converter, sampling, delay
    accumulators     what a run probes, on the device: rows of quantities, and what was found of them
    reductions       what becomes of the numbers of a measure, step by step: extremes, sums, crossings; see measures.py
    aside            what steps go on from, and frames overwrite
    loop_guard       loops of signals that drive themselves by their samples, which ends their worlds
    measures         quantities that a run probes, on the device: what a probe at the end of a step adds to each
"""
