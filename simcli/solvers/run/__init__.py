"""The solvers, on the host: the core of a run, calls of its kernels, events of worlds, and runs that a program steps."""
