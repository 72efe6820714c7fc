"""`simcli fit`: numbers of a scene by least squares against a measured log.

In: a scene, a log, which numbers may change. Out: the numbers, and how well they are known. Never here: printing.

    data          a measured log: columns by the grammar of quantities, gaps, weights
    opensim_log   OpenSim's tables as logs
    clock         the offset between the clocks of a log and of a run
    series        the numbers of a run at the times of a log
    statistics    standard errors, correlation, directions that data do not determine
    free_numbers  the numbers that a fit may change: where they begin, and between which bounds
    residuals     residuals and Jacobian at trial points
    fitting       least squares
    fit_picture   a picture of a fit and its residuals
"""
