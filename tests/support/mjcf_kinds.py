"""A model of MJCF with all kinds of joints, sensors and actuators, and its import."""

from simcli.exchange.importing import import_model

INCLUDED = """<mujocoinclude>
  <asset><material name="paint" rgba="1 0.5 0 1" texture="checks"/>
    <texture name="checks" builtin="checker" width="4" height="4" type="2d"/>
    <mesh name="wedge" vertex="0 0 0  0.1 0 0  0 0.1 0  0 0 0.1"/></asset>
</mujocoinclude>
"""
MODEL = """<mujoco model="all kinds">
  <compiler angle="degree"/>
  <option timestep="0.002" integrator="RK4" gravity="0.3 -0.2 -9.81" density="1.2"/>
  <include file="parts.xml"/>
  <visual><map znear="0.1"/></visual>
  <default>
    <joint damping="0.1"/>
    <default class="leg"><geom rgba="0 0 1 1" friction="0.7 0.02 0.001"/>
      <joint armature="0.01" solreflimit="0.01 1"/></default>
  </default>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="side" pos="0 -3 1" xyaxes="1 0 0 0 0 1" fovy="40"/>
    <geom name="floor" type="plane" size="5 5 0.1" pos="0 0 -2" condim="3"/>
    <site name="hook" pos="0.2 0 1.5" euler="20 -30 0"/>
    <body name="stand" pos="0 0 1"><geom type="box" size="0.05 0.05 0.1" mass="0"/>
      <body name="free 1" pos="0 0 1"/></body>
    <body name="rover" pos="0.5 0.2 0.3" euler="10 20 30">
      <freejoint name="root"/>
      <inertial pos="0.01 0.02 -0.03" mass="2" fullinertia="0.2 0.25 0.3 0.01 0.02 -0.01"/>
      <geom name="hull" class="leg" type="capsule" fromto="0 0 0 0.2 0.1 0" size="0.05"/>
      <body name="hip" pos="0.1 0.2 0"><geom type="sphere" size="0.06" class="leg"/>
        <joint name="hip_x" axis="1 0 0" class="leg" range="-40 30" limited="true"/>
        <joint name="hip_y" axis="0 1 0" class="leg" stiffness="3" springref="20"/>
        <joint name="hip_z" axis="0 0 1" class="leg" frictionloss="0.2"/>
        <body name="shin" pos="0 0 -0.4"><geom type="cylinder" size="0.03 0.1" pos="0 0 -0.1" material="paint"/>
          <joint name="knee" axis="0 1 0.3" pos="0 0 0.1" ref="15" range="-20 60" limited="true"/>
          <site name="sole" pos="0 0 -0.2" euler="0 90 0"/>
          <body name="foot" pos="0 0 -0.25"><geom type="ellipsoid" size="0.05 0.03 0.02" contype="0" conaffinity="0"/>
            <joint name="ankle" axis="0 1 0"/>
            <joint name="toe" axis="0.2 1 0" pos="0.05 0 0"/>
            <joint name="slip" type="slide" axis="1 0 0" range="-0.1 0.1" limited="true"/>
          </body></body></body>
      <body name="head" pos="0 0 0.3"><joint name="neck" type="ball" pos="0 0 -0.1" stiffness="5" damping="0.2"/>
        <geom type="mesh" mesh="wedge"/><site name="eye" pos="0.05 0 0"/></body>
    </body>
    <body name="cart" pos="1 0 0"><geom type="box" size="0.1 0.05 0.05"/>
      <joint name="rail" type="slide" axis="1 0 0" damping="1"/>
      <body name="pole" pos="0 0 0.1" gravcomp="0.4"><geom type="capsule" size="0.02 0.2" pos="0 0 0.2"/>
        <joint name="pin" axis="0 1 0" springdamper="0 0"/><site name="tip" pos="0 0 0.4"/></body></body>
  </worldbody>
  <contact><exclude body1="cart" body2="shin"/></contact>
  <tendon>
    <fixed name="sum" stiffness="4" damping="0.3" springlength="0.1">
      <joint joint="knee" coef="1"/><joint joint="ankle" coef="-0.5"/></fixed>
    <spatial name="rope" stiffness="7" damping="0.1" springlength="0.4">
      <site site="hook"/><site site="eye"/><site site="tip"/></spatial>
  </tendon>
  <actuator>
    <motor name="push" joint="rail" gear="3" ctrlrange="-2 2" ctrllimited="true"/>
    <position name="servo" joint="hip_x" kp="11" kv="0.5" gear="2" forcerange="-30 30"/>
    <velocity name="spin" joint="pin" kv="2"/>
    <general name="law" joint="pin" gainprm="4" biastype="affine" biasprm="0.5 -6 -0.3"/>
    <position name="pull" tendon="sum" kp="9"/>
    <general name="flesh" joint="toe" dyntype="muscle" dynprm="0.01 0.04"/>
    <motor name="jet" site="sole" gear="0.2 -0.1 1 0.03 0.02 -0.05"/>
    <motor name="wind" site="eye" refsite="hook" gear="0 0.4 0 0 0 0.06"/>
  </actuator>
  <sensor><gyro name="imu" site="sole"/><accelerometer name="imu 2" site="eye" noise="0.1"/><velocimeter site="tip"/>
    <framepos name="seen" objtype="site" objname="sole" reftype="site" refname="hook"/><rangefinder name="range" site="eye"/>
    <framepos name="mid" objtype="body" objname="rover"/><framelinvel name="part" objtype="geom" objname="hull"/>
    <jointpos name="turn" joint="knee"/><jointvel name="rate" joint="rail"/><force name="load" site="sole"/>
    <torque name="twist" site="sole"/><subtreecom name="centre" body="hip"/><subtreelinvel name="drift" body="head"/>
  </sensor>
  <keyframe><key name="home" time="1" ctrl="0.3 0.3 0.3 0.3 0.3 0.7 0.3 0.3"
    qpos="KEY_Q" qvel="KEY_V"/></keyframe>
</mujoco>
"""
# Of the free joint, the hip, knee and foot, the ball, rail and pin.
KEY_Q = (0.1, 0.2, 0.9, 0.6, 0.0, 0.8, 0.0, 0.1, -0.2, 0.3, 0.5, 0.4, -0.3, 0.02, 0.6, 0.8, 0.0, 0.0, 0.2, -0.4)
KEY_V = (0.3, 0.1, -0.2, 1.0, 0.5, -0.7, 0.2, 0.4, 0.6, -0.8, 0.1, 0.3, -0.1, 0.9, -0.4, 0.2, 0.5, 0.7)
MODEL = MODEL.replace("KEY_Q", " ".join(map(str, KEY_Q))).replace("KEY_V", " ".join(map(str, KEY_V)))
BALL = '<geom type="sphere" size="0.1"/>'


def model_file(folder, text=MODEL, name="model.xml"):
    folder.mkdir(exist_ok=True)
    (folder / "parts.xml").write_text(INCLUDED)
    path = folder / name
    path.write_text(text)
    return path


def imported(folder, text=MODEL):
    return import_model(model_file(folder, text))


def fates(report, kind):
    return {entry.name: (entry.fate, entry.why) for entry in report.entries if entry.kind == kind}


def bodies(text, more=""):
    return f"<mujoco><worldbody>{text}</worldbody>{more}</mujoco>"
