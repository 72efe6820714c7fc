"""Models of other formats as scenes, and scenes as such models, with a report of every loss.

In: files of URDF, MJCF and SDF. Out: the text of a scene, the meshes that stand beside it, and a report with a line for each
element of the source. Never here: tables of numbers, solvers, what a scene means.

    importing      a file as a scene: `simcli import`, and what every command that takes a scene goes through
    xml_reader     XML without entities, with the line of each element
    mechanism      what the formats share: links, joints, shapes, in their own words
    import_report  what was carried, changed, dropped, and why
    naming         names of the source as names of a scene
    meshes         where mesh files are, and whether scenes can use them
    decomposition  a mesh as convex parts
    urdf           URDF to a mechanism
    mjcf           MJCF to a mechanism
    sdf            SDF to a mechanism
    layers         which shapes touch: parts of a model, masks of bits
    looks          colours of links
    lumping        links without mass
    neighbours     links that do not touch, because a joint of the source connects them
    beginning      where joints begin, within limits and gears
    inertias       moments that no body has
    scene_text     a mechanism as the text of a scene
    writing        scenes as models of other formats
"""
