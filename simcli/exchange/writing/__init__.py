"""Scenes as models of other formats, with a report of every loss.

In: a scene, checked. Out: the text of a URDF or MJCF file, the meshes that stand beside it, and a report with a line for
each element of the scene. Never here: reading of those formats.

    exporting    a scene as a model: what `simcli export` goes through
    source       the scene that is written: its tables, its names in the model, what is told of its elements
    chains       the tree as links on chains of slides and hinges, which both formats know
    xml_text     elements as text
    mesh_copies  mesh files beside the model
    urdf         scenes as URDF
    mjcf         scenes as MJCF
"""
