"""What all solvers have in common: the host's side, the frames of a run, its clock, its ends and its measures.

In reading order:

    plan          steps and frames of a run;  engine: what a solver is on the device
    solver        the host's side: calls, frames, events, phases;  loose: of solvers that take the bodies one by one
    core          all memory of a run in coordinates of joints, of free bodies and of points
    rollout       the kernels of a run;  frames: how a call goes through them;  loop_bounds: drivers that cut loops
    clock         times within a step, and the signals of each;  motions: prescribed coordinates;  drives: what drives give
    ledger        energies, and the work of forces;  watch: worlds that end;  endings, limit_events: what is said of them
    start         where a run begins
    gauges        rows of quantities that a run looks at;  measures: a look;  reductions: what a look adds;  touches, stated,
                  contact_report: contacts as frames show them
    large_worlds  which scenes keep nothing dense;  proved: what is refused on devices that compile by way of SPIR-V
"""
