"""A scene with three copies of one arm on fixed bases and two copies of a floating robot."""

ARMS = """\
simcli: 1
contact: {enabled: false}
models:
  arm:
    bodies:
      upper: {mass: 1, com: [0.2, 0, 0], inertia: {diag: [0.01, 0.02, 0.02]},
              shapes: {tube: {type: capsule, radius: 0.03, length: 0.3}}}
      fore: {pose: {xyz: [0.4, 0, 0]}, mass: 0.5, com: [0.15, 0, 0], inertia: {diag: [0.005, 0.01, 0.01]}}
    joints:
      shoulder: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3, qd: 0.1}
      elbow: {type: revolute, parent: upper, child: fore, at: [0.4, 0, 0], axis: [0, 0, 1], q: -0.2, qd: 0.4}
    articulations: {arm: [shoulder, elbow]}
  drone:
    bodies:
      hull: {pose: {xyz: [0, 0, 1]}, mass: 2, inertia: {diag: [0.1, 0.1, 0.2]},
             velocity: {linear: [1, 0, 0.5], angular: [0, 0.2, 0]}}
      mast: {pose: {xyz: [0, 0, 1.2]}, mass: 0.3, com: [0, 0, 0.1], inertia: {diag: [0.01, 0.01, 0.002]}}
      lamp: {pose: {xyz: [0, 0, 1.5]}, mass: 0.1, inertia: {diag: [0.001, 0.001, 0.002]}}
    joints:
      lift: {type: prismatic, parent: mast, child: lamp, at: [0, 0, 1.5], axis: [0, 0, 1], q: 0.05}
      gimbal: {type: universal, parent: hull, child: mast, at: [0, 0, 1.2], axes: {angular: [[1, 0, 0], [0, 1, 0]]},
               q: [0.3, 0.2]}
    articulations: {drone: [gimbal, lift]}
replicate:
  row: {model: arm, count: 3, spacing: [2, 0, 0]}
  fleet: {model: drone, count: 2, spacing: [3, 0, 0], at: {xyz: [0, 2, 0]}}
solver: {type: generalized, dt: 1e-3}
run: {duration: 0.02}
output: {every: 0.01}
"""
