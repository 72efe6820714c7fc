"""A scene with a joint of every kind that trees have, for what is written in other formats."""

# Frames and `at`, axes that lie anywhere, a tree that runs from a child to its parent, an instance, points.
JOINTS = """simcli: 1
name: all_joints
params: {I: 0.02}
defaults: {body: {inertia: {full: [[0.03, 0.004, -0.002], [0.004, 0.025, 0.003], [-0.002, 0.003, 0.02]]}}}
bodies:
  column: {mass: 3, com: [0.02, -0.03, 0.3], points: {top: [0, 0, 0.6]}, frames: {eye: {xyz: [0.1, 0, 0], rpy: [0, 0.3, 0]}}}
  carriage: {mass: 1.2, com: [0.05, 0, 0.02]}
  crossed: {mass: 0.8, com: [0.1, 0.02, -0.2], points: {tip: [0.1, 0, -0.4]}}
  nut: {pose: {xyz: [1, 0, 0], rpy: [0.2, 0.1, 0]}, mass: 0.7, com: [0.03, 0, 0]}
  tube: {pose: {xyz: [0, 1, 0.2]}, mass: 0.9, com: [0.02, 0.03, 0.1]}
  sled: {pose: {xyz: [0, -1, 0], rpy: [0, 0, 0.3]}, mass: 1.1, com: [0.04, -0.02, 0.01]}
  six: {mass: 0.6, com: [0.02, 0.05, -0.1]}
  knob: {mass: 0.5, com: [0.03, 0.02, -0.15]}
  tail: {pose: {xyz: [0, 0, 0.5]}, mass: 0.4, com: [-0.1, 0.05, 0]}
  weight: {mass: 0.3, com: [0, 0.01, 0.02]}
  hand: {mass: 0.2, com: [0.1, 0, 0.02]}
  stone: {pose: {xyz: [2, 0, 1], rpy: [0.3, 0.2, 0.1]}, mass: 1.3, com: [0.02, 0.01, -0.03]}
joints:
  turn: {type: revolute, parent: world, child: column, parent_frame: {xyz: [0, 0, 0.1], rpy: [0.1, 0.2, 0.3]},
         child_frame: {xyz: [0.02, 0, 0], rpy: [0.3, 0, 0]}, axis: [0.1, 0.2, 1], q: 0.4, qd: 0.3, damping: 0.05}
  reach: {type: prismatic, parent: column, child: carriage, parent_frame: {xyz: [0.1, 0, 0.5]}, axis: [1, 0.3, 0.5], q: 0.1,
          qd: -0.2, damping: 0.4}
  cross: {type: universal, parent: carriage, child: crossed, parent_frame: {xyz: [0.2, 0, 0], rpy: [0, 0.2, 0]},
          child_frame: {xyz: [0, 0, 0.05], rpy: [0.1, 0, 0]}, axes: {angular: [[1, 0, 0], [0, 1, 0]]}, q: [0.3, -0.2],
          qd: [0.5, 1.5], damping: [0.02, 0.05]}
  thread: {type: screw, parent: world, child: nut, at: [1, 0, 0], axis: [0, 0.2, 1], pitch: 0.3, q: 0.2, qd: 1}
  bearing: {type: cylindrical, parent: world, child: tube, at: [0, 1, 0], axis: [0.2, 0, 1], q: [0.05, 0.4], qd: [0.1, 2]}
  floor: {type: planar, parent: world, child: sled, at: [0, -1, 0], axis: [0.1, 0.2, 1], q: [0.1, 0.2, 0.3], qd: [0.3, 0, 1]}
  gantry: {type: d6, parent: crossed, child: six, parent_frame: {xyz: [0, 0.1, -0.3], rpy: [0.2, 0, 0.1]},
           child_frame: {xyz: [0.01, 0, 0.02]}, axes: {linear: [[1, 0, 0], [0, 0, 1]], angular: [[0, 1, 0], [0, 0, 1]]},
           q: [0.02, -0.03, 0.2, 0.3], qd: [0.1, 0.2, -0.3, 0.4], damping: [1, 1, 0.01, 0.01]}
  globe: {type: ball, parent: column, child: knob, parent_frame: {xyz: [0, 0.2, 0.4], rpy: [0.3, 0.1, 0.2]},
          child_frame: {xyz: [0, 0, 0.1], rpy: [0.2, 0.4, 0]}, damping: 0.01BALL}
  back: {type: revolute, parent: tail, child: column, at: [0, 0.1, 0.5], axis: [0, 1, 0.2], q: 0.2, qd: 0.5}
  weld: {type: fixed, parent: tail, child: weight, parent_frame: {xyz: [-0.2, 0, 0], rpy: [0, 0, 0.5]}}
  wrist: {type: revolute, parent: weight, child: hand, parent_frame: {xyz: [0, 0.05, 0]}, axis: [0, 0, 1], q: -0.3}
models:
  link:
    bodies: {bar: {pose: {xyz: [0, 0, -0.5]}, mass: 1}}
    joints: {pin: {type: revolute, parent: world, child: bar, at: [0, 0, 0], axis: [0, 1, 0], qd: 0.7}}
instances: {left: {model: link, at: {xyz: [3, 0, 2]}}}
initial: {joint_qd: {stone_free: [0.1, 0.2, 0.3, 1, -0.5, 0.4]}}
solver: {type: generalized, integrator: rk4, dt: 1 ms}
run: {duration: 0.2}
output: {every: 0.1}
"""
BALL_START = ", q: [0.1, 0.2, -0.1, 0.9695359714832659], qd: [0.3, -0.2, 0.5]"
# What acts between bodies and on joints, as far as MuJoCo has the same law.
FORCES = """simcli: 1
name: all_forces
world: {gravity: [0.5, 0.2, -9]}
defaults: {body: {mass: 1, inertia: {diag: [0.02, 0.03, 0.04]}}}
bodies:
  a: {com: [0.1, 0, -0.2], points: {end: [0, 0.1, -0.4]}}
  b: {gravity_compensation: 0.7, com: [0, 0, -0.2], points: {end: [0.1, 0, -0.4]}}
  c: {com: [0.05, 0, -0.1]}
  d: {com: [0.05, 0.02, -0.1]}
  stone: {pose: {xyz: [1, 1, 1]}, com: [0.1, 0, 0]}
joints:
  pin: {type: revolute, parent: world, child: a, parent_frame: {}, axis: [0, 1, 0], q: 0.3, armature: 0.05,
        drive: {mode: position, target: 0.5, stiffness: 30, damping: 2}}
  elbow: {type: revolute, parent: a, child: b, parent_frame: {xyz: [0, 0, -0.5]}, axis: [0.3, 1, 0], qd: 1,
          drive: {mode: velocity, target_velocity: 2, damping: 1.5}}
  rail: {type: prismatic, parent: world, child: c, parent_frame: {xyz: [0, 1, 0]}, axis: [1, 0, 0],
         drive: {mode: position_velocity, target: 0.2, target_velocity: 0.1, stiffness: 40, damping: 3, effort_limit: 500}}
  swing: {type: universal, parent: c, child: d, parent_frame: {xyz: [0, 0, -0.2]}, axes: {angular: [[1, 0, 0], [0, 1, 0]]},
          q: [0.2, 0.1], drive: {mode: effort, target: 0.3}}
forces:
  line: {type: spring, a: {world: [1, 0, -0.3]}, b: a/end, stiffness: 80, damping: 2, rest_length: 0.4}
  rope: {type: spring, a: b/end, b: {world: [0, -1, -1]}, through: [{world: [1, 0, 0]}, {body: c, at: [0, 0, 0.1]}],
         stiffness: 50, rest_length: 1.1, slack: true}
  thrust: {type: wrench, body: stone, force: [1, 2, 3], torque: [0.1, 0, 0.2], frame: body, at: [0.1, 0.2, 0]}
  wind: {type: wrench, body: b, force: [1, 0, 0.5], torque: [0, 0.2, 0.1], at: [0, 0, -0.3]}
  motor: {type: torque, joint: elbow, value: 0.7}
  twin: {type: torque, joint: swing, value: [0.2, -0.1]}
  coil: {type: torsion, joint: swing, stiffness: [3, 4], damping: 0.2, rest_angle: [0.3, 0]}
  tendon: {type: coupling, of: [{joint: pin, factor: 2}, {joint: elbow, factor: -1}], stiffness: 5, rest: 0.1, damping: 0.3,
           drive: {mode: position, target: 0.2, stiffness: 2}}
solver: {type: generalized, integrator: rk4, dt: 1 ms}
run: {duration: 0.2}
output: {every: 0.1}
"""
