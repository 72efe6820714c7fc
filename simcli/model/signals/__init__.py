"""Signals: functions of time, and what they drive.

In: signals of a scene, CSV files. Out: their tables, and the wiring by index. Never here: their values on the device.

    csv_table    numbers from CSV files: times and values of a signal, heights of terrain
    splines      interpolating splines: of tables over time, and of recorded coordinates that are differentiated
    values       parameters of signals, the cubics of their tables, and their values in numpy
    tables       tables of what acts on a mechanism as a function of time: signals, what they drive, and prescribed motions
    formulas     formulas of feedback as three-address code, folded where its values are constants
    controllers  the laws of feedback signals, as code: expressions, PID controllers and lags, with their delay and limits
    activations  activations of drives: lags of their targets, as signals of their own behind those of the scene
    crossings    events by condition: when a quantity crosses a bound, as laws, and the latches that switch what they set
    feedback     feedback of a scene: the laws of its signals, in an order in which each comes after those that it names
    prescribed   prescribed motions at a time, and the initial state that follows from them
    inputs       what signals drive, and prescribed motions: the wiring of a scene, by index
    timed        whether something of a mechanism depends on the time since it began
    controlled   drives whose targets a program sets while a simulation runs: a constant signal each
"""
