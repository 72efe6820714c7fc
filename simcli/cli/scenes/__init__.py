"""Commands on scenes and on the tool itself, without a run.

In: scene files, names of pages. Out: verdicts, pages, schemas. Never here: runs, results.

    new      `simcli new`: a scene that runs, to start from
    import_model  `simcli import`: a model of another format as a scene, with a report of every loss
    decompose  `simcli decompose`: a mesh as convex parts, which can collide
    check    `simcli check`: is this valid? Scenes, folders, outputs
    contact_findings  what check and show say of contact: overlaps at the start, shapes that can touch nothing
    explain  `simcli explain`: the page of one fault code
    show     `simcli show`: what simcli understood of a scene
    samples  `simcli samples`: what a batch would draw, a row per world
    schema   `simcli schema`: the JSON Schema of scene files and of sweep files, for editors
    docs     `simcli docs`: the pages of the manual, in the terminal
    doctor   `simcli doctor`: does this installation work, and what can it use?
"""
