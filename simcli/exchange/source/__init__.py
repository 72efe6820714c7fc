"""A model as it is read, before it is a scene: XML, names, links, joints, meshes, and the report of what became of it.

In: elements of a file of any format. Out: a mechanism in the words of the source. Never here: what one format alone has.
"""
