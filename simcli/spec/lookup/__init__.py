"""What is looked up in a scene and in its schema, by name or path.

In: a SceneSpec, the schema. Out: its structure, values and keys at a path, who uses a signal, the reference of the scene
file, JSON Schema for editors. Never here: geometry, numbers of the physics, faults.
"""
