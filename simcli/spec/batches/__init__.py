"""Many worlds and many scenes out of one text.

In: the batch of a scene, a sweep file. Out: values per world, scenes per case. Never here: runs.

    sobol       Sobol points with the direction numbers of Joe and Kuo
    batch       what differs between worlds: the batch of a scene to values per world
    worlds      one world of a batch: a scene with some values replaced
    passes      all worlds of a batch in as few passes over the scene as they need
    sweep_file  a sweep file to the structures that it names: scenes, and the overrides that make each variant of them
"""
