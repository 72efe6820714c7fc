"""What a file holds, as data.

In: a Model, its scene, versions. Out: datasets with axes, units and meaning; groups that are written once. Never here: a
run that goes on.

    layout          every dataset as data: path, axes, unit, meaning
    select          `output.select`: which bodies and joints a file keeps
    chunks          how many frames make a commit, and the shape of every chunk
    model_columns   the group /model as data: enough to draw and to compute without the scene
    measures        /measures: a group for each measure, with its values and times
    sweep_cases     which cases of a sweep a result holds, and the digest of its numbers
    error_estimate  /error_estimate: what the length of the step does, added at the end
    provenance      where a file comes from: versions, command line, device, and the whole scene with its checksums
    digest          what "the same bytes" means
    seal            of texts, units and structure, which no digest of numbers covers
"""
