"""The schema: every key of a scene, its type, its unit, its default and its meaning.

In: mappings. Out: frozen pydantic models. Never here: checks that look at two parts of a scene at once (checks).

    pose          schema of poses
    select        schema of a selection of bodies and joints
    look          schema of `look`: how a scene is drawn
    shape         schema of shapes: a form, which is all that can be seen, and what it is made of
    body          schema of materials, poses, inertia, shapes and bodies
    joint         schema of joints
    barrier       schema of barrier contact, which the affine solver has
    contact       schema of contact: which shapes touch, overrides of pairs, and what a solver does about it
    expect        schema of `expect` and of `run.stop_when`: conditions on recorded quantities
    measure       schema of `measure`: numbers per world, found at every step
    batch         schema of the batch: how many worlds, and what differs between them
    run_sections  schema of events, contact, initial state, run, output, batch and expectations
    scene         the scene: SceneSpec, and what is written in a file but gone after expansion (SceneFile)
    sweep         the sweep file: which scenes, in which variants, are run as many batches
"""
