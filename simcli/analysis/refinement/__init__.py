"""What the length of the step does to a run, seen from runs of the same scene at half and at a quarter of its step.

In: three open `Trajectory`s. Out: an `ErrorEstimate`, and steps that would reach a wanted error. The files are read in tiles
of bounded size.

    sums      sums and extremes of the differences of a quantity, world by world
    bounds    worlds in which a hard limit may have been met
    verdicts  order, error, and whether they can be trusted
    estimate  all of it
"""
