"""Scenes of the tests of searches."""

# A block of 2 kg on a spring without damping, released at 0.2 m: q = 0.2 cos(sqrt(k / m) t).
BLOCK = """
simcli: 1
bodies:
  block: {pose: {xyz: [1.0, 0, 0]}, mass: 2.0, inertia: {diag: [0.01, 0.01, 0.01]}, points: {hook: [0, 0, 0]}}
joints:
  rail: {type: prismatic, parent: world, child: block, at: [1.0, 0, 0], axis: [1, 0, 0], q: 0.2}
forces:
  spring: {type: spring, a: {world: [0, 0, 0]}, b: block/hook, stiffness: 50, rest_length: 1.0}
solver: {type: generalized, dt: 1.0e-3, integrator: rk4}
run: {duration: 0.5}
output: {every: 0.01}
measure: {peak: {max_abs: joint.rail.qd}}
expect: [{at: 0.5, quantity: joint.rail.q, equals: 7, within: 1}]
"""

PENDULUM = """
simcli: 1
params: {m1: 1.2, m2: 0.9, c: 0.05, l: 1.0}
world: {gravity: [0, 0, -10]}
bodies:
  upper: {pose: {xyz: ["${l/2}", 0, 0]}, mass: "${m1}", inertia: {diag: [1, 0.1, 1]}}
  lower: {pose: {xyz: ["${3*l/2}", 0, 0]}, mass: "${m2}", inertia: {diag: [1, 0.1, 1]}, points: {tip: [0.5, 0, 0]}}
joints:
  shoulder: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, -1, 0], damping: "${c}"}
  elbow: {type: revolute, parent: upper, child: lower, at: ["${l}", 0, 0], axis: [0, -1, 0], q: 0.3}
solver: {type: generalized, dt: 1.0e-3, integrator: rk4}
run: {duration: 0.6}
output: {every: 0.02}
"""
