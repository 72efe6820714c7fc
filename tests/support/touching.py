"""A crate that falls, slides and is hit by a ball: contacts that come and go, in worlds that differ."""

SCENE = """
simcli: 1
materials: {wood: {friction: 0.4, density: 1000}}
world: {shapes: {ground: {type: plane, material: wood}}}
bodies:
  crate:
    pose: {xyz: [0, 0, 0.13], rpy: [0, 0, 0.3]}
    velocity: {linear: [0.3, 0, 0], angular: [0, 0, 1]}
    shapes: {hull: {type: box, size: [0.4, 0.3, 0.2], material: wood}}
  ball:
    pose: {xyz: [-0.5, 0.02, 0.0999]}
    velocity: {linear: [3, 0, 0]}
    shapes: {skin: {type: sphere, radius: 0.1, material: wood}}
solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}
run: {duration: 0.2}
output: {every: 0.001, channels: [state, contacts]}
"""
VARIED = "bodies.crate.pose.xyz[2]=uniform(0.11, 0.2)"
