"""Memory of all worlds, and how kernels see it.

In: shapes and numbers of a model. Out: arrays, tables and stages that take them. Never here: physics.

    storage      the array in which an arena keeps everything: on the CPU of the host, on a GPU of the device
    pack_arrays  quantities of items in memory: what arrays and tables are inside kernels, and where their numbers stand
    memory_layout  what the memory holds: arrays and tables that are reserved, and how they stand one after another
    arena        memory of all worlds, and packs inside kernels
    notes        scalars of a block for work that goes lane by lane: what branches by nature, and needs lists
    ages         steps since each world began, where worlds begin one by one
    tables       the model's tables on the device, under the names they have on the host
    lists        lists of stages, as solvers write them
    programs     programs: a step is such a list, which a kernel takes one stage after another as a table says
    warps        threads of a CUDA warp that have come to different lines of a program: who goes on first
"""
