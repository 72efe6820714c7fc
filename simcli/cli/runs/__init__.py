"""Commands that run one scene.

In: a scene, options of a run. Out: a file, and what is said of it. Never here: many batches (sweeps), searches.

    run_options   options of `simcli run`, and what they put into a scene
    run           `simcli run`: a scene to a trajectory
    summary       what a run says before it starts and after it has ended, for people and as JSON
    live_view     `simcli run --view`: a page that grows with the run
    refined_runs  `simcli run --error-estimate`: the scene again at half and at a quarter of its step
    refined_text  the words and numbers of an estimate of the error
    precompile    `simcli precompile`: compile the kernels of scenes before they are run
"""
