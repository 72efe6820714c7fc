"""What the schema tells of itself.

In: the schema. Out: the keys at a path, the reference of the scene file, JSON Schema for editors. Never here: scenes.

    keys         names of the keys that the schema knows at a path, read from the schema itself
    reference    the reference of the scene file, made from the schema
    json_schema  JSON Schema (draft 7) of scene files, for editors: made from the schema classes
"""
