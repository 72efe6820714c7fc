"""What all solvers have in common: the host's side, the frames of a run, its clock, its ends and its measures.

In reading order:

    host            the host's side of all solvers: what a run asks for, calls, events, and what ends
    core            what the kernel of a run reads and writes: tables, state, forces, steps, and constants of the integrator
    rollout         the kernels of a run: every block of worlds by whole frames, and what changes tables between them
    by_hand         runs that a program steps by hand: steps without frames, worlds that begin anew
    by_stages       the kernels of a run on devices whose compilers take long for long kernels: one stage each
    needs           what device functions are for: a run that has none of it leaves their calls out
    others          columns of frames that leave the device together in one buffer
    frames          the frames of all solvers that have accelerations: a list of stages, whose steps each solver gives
    clock           the time of an evaluation, and what depends on it: signals, and the work of forces that jump
    motions         prescribed motions: dofs of the tree that are locked to them, and rows of other joints that follow them
    motion_work     their work: forces that hold what they prescribe, times the ways of it
    drives          what the drives of joints give: their laws at the coordinates and rates that a frame shows
    energy_balance  the energy balance: energies, and the work of forces by the trapezoidal rule
    sampling        samples of the signals that follow the motion, where a step begins
    watch           worlds that end: what each step is watched for
    start           what was done to begin a run, as the status of its worlds and the events of its first frame
    probes          what a run probes besides its frames: measures, and ends of worlds that depend on them
    contacts        contacts as frames show them
"""
