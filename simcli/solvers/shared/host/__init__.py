"""The host's side of all solvers: what a run asks for, calls, events, and what ends.

In: a Model, a RunPlan. Out: calls of kernels, FrameBlocks, events. Never here: what a step does.

    plan             what a run asks of any solver: step, frames, channels, quantities
    engine           what a solver is on the device: Taichi functions of its core `c` and a block `w`
    large_worlds     which scenes keep nothing dense
    loop_bounds      kernel calls on drivers that leave loops after so many turns, and say nothing
    walk             frames on devices that take each stage of a step as a kernel: the host walks through the program
    endings          what the events of worlds that end say: the reason of each, and which body and joint it names
    crossing_events  events by condition that took place in the last call
    limit_events     worlds that end because an event leaves a coordinate outside a hard limit
    open_joints      worlds that end because an event enables a joint whose frames are apart
    frame_buffers what a call of the kernel fills with frames, and the columns that they become
    solver         calls, frames, events, phases; and the generalized solver
    single_bodies  solvers that take the bodies one by one, every joint a set of rows: maximal and natural coordinates
"""
