"""Scenes of contact with closed forms, many cases as the worlds of one batch: one kernel serves all of them."""

import json

import numpy as np

from simcli.cli.process import run_command
from simcli.records.reading.reader import open_trajectory

GRAVITY = 9.81
INTEGRATOR = {"generalized": "semi_implicit", "maximal": "semi_implicit", "natural": "moreau"}

# A block and a ball on a plane that leans by the angle a (gravity turns instead), and three sliders on rails across it.
# The ball starts along `heading`, and a force turns what pulls it downhill to `down`, both from x.
# All three have margins m, by which their surfaces lie deeper than where they touch.
RADIUS = 0.1
NEUTRAL = {"a": 0.0, "mu": 0.5, "more": 0.0, "roll": 0.0, "twist": 0.0, "e": 0.0, "z": RADIUS, "v": 0.0, "u": 0.0, "w": 0.0,
           "n": 0.0, "pull": 0.9, "m": 0.0, "heading": 0.0, "down": 0.0}
YARD = {
    "simcli": 1,
    "params": NEUTRAL,
    "materials": {"m": {"friction": "${mu}", "friction_static": "${mu + more}", "rolling_friction": "${roll}",
                        "torsional_friction": "${twist}", "restitution": "${e}"}},
    "world": {"gravity": [f"${{{GRAVITY}*sin(a)}}", 0, f"${{-{GRAVITY}*cos(a)}}"],
              "shapes": {"ground": {"type": "plane", "offset": "${-m}", "margin": "${m}", "material": "m"}}},
    "bodies": {
        "block": {"mass": 2, "pose": {"xyz": [0, 0, 0.1]}, "velocity": {"linear": ["${v}", 0, 0]},
                  "shapes": {"box": {"type": "box", "size": [1, 1, "${0.2 - 2*m}"], "margin": "${m}", "material": "m"}}},
        "ball": {"mass": 1, "pose": {"xyz": [0, 5, "${z}"]}, "inertia": {"diag": [0.4 * RADIUS**2] * 3},
                 "velocity": {"linear": ["${u*cos(heading)}", "${u*sin(heading)}", 0],
                              "angular": ["${-w*sin(heading)}", "${w*cos(heading)}", "${n}"]},
                 "shapes": {"sphere": {"type": "sphere", "radius": f"${{{RADIUS} - m}}", "margin": "${m}",
                                       "material": "m"}}},
        **{name: {"mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}, "pose": {"xyz": [x, 0, 5]}}
           for x, name in enumerate(("rubbed", "stopped", "clamped"))},
    },
    "joints": {
        "rubbed": {"type": "prismatic", "parent": "world", "child": "rubbed", "at": [0, 0, 5], "axis": [0, 1, 0],
                   "friction": 1.0},
        "stopped": {"type": "prismatic", "parent": "world", "child": "stopped", "at": [1, 0, 5], "axis": [0, 1, 0],
                    "limit": [-0.3, 0.3]},
        "clamped": {"type": "prismatic", "parent": "world", "child": "clamped", "at": [2, 0, 5], "axis": [0, 1, 0],
                    "drive": {"mode": "position", "target": 100, "stiffness": 1000, "damping": 10, "effort_limit": 4}},
    },
    "forces": {"pull": {"type": "wrench", "body": "rubbed", "force": [0, "${pull}", 0]},
               "downhill": {"type": "wrench", "body": "ball", "force": [f"${{{GRAVITY}*sin(a)*(cos(down) - 1)}}",
                                                                        f"${{{GRAVITY}*sin(a)*sin(down)}}", 0]},
               "push": {"type": "wrench", "body": "stopped", "force": [0, 10, 0]}},
    "contact": {"exclude": [["block", "ball"]]},
    "output": {"channels": ["state", "energy", "reactions"]},
}

# Most other scenes begin with this.
ROUGH = {"simcli": 1, "defaults": {"shape": {"material": "m"}}, "materials": {"m": {"friction": 0.5}},
         "world": {"shapes": {"ground": {"type": "plane"}}},
         "output": {"channels": ["state", "energy", "contacts"]}}


def scene(solver, dt, duration, base, every=None, **solver_more):
    """A scene with its solver, step and times."""
    options = {"type": solver, "integrator": INTEGRATOR[solver], "dt": dt, **solver_more}
    output = {**base.get("output", {}), "every": every or dt}
    return {**base, "solver": options, "run": {"duration": duration}, "output": output}


def batch(cases, neutral):
    """`batch` of a scene with one world for each case, a mapping of names to what differs from the neutral parameters."""
    columns = {key: [float({**neutral, **case}[key]) for case in cases.values()] for key in neutral}
    return {"worlds": len(cases), "vary": {f"params.{key}": {"list": values} for key, values in columns.items()}}


def write(folder, name, content):
    """The path of a scene, written."""
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(content, indent=1))
    return path


def run(folder, name, content, *words):
    """Run a scene in this process, and open its file.

    Args:
        folder: where the scene is written.
        name: of the scene and of its file.
        content: the scene.
        words: more words of the command line.
    """
    path, output = write(folder, name, content), folder / f"{name}.h5"
    line = ["run", str(path), "-o", str(output), "--device", "cpu", "-q", *map(str, words)]
    return int(run_command(line, debug=False, as_json=False)), open_trajectory(output)


def contact_forces(seen):
    """[N], (F, W, B, 3): what all contacts together do to each body in the steps that end at the frames."""
    table, owner = seen.contact_table(), np.asarray(seen.model["shape_body"])
    total = np.zeros((seen.n_frames, seen.n_worlds, len(seen.bodies) + 1, 3))  # the last one is the world, -1
    for column, sign in (("shape_a", -1.0), ("shape_b", 1.0)):
        np.add.at(total, (table["frame"], table["world"], owner[table[column]]), sign * table["force"])
    return total[:, :, :-1]


def rotated(quat, vector):
    """(..., 3) a body vector in the world, from (..., 4) x y z w."""
    x, w = quat[..., :3], quat[..., 3:]
    t = 2 * np.cross(x, np.broadcast_to(vector, x.shape))
    return vector + w * t + np.cross(x, t)


def workshop(feet):
    """A box pulled from under another, a table on many feet that is pushed, a four-bar with redundant hinges.

    Args:
        feet: number of feet of the table, on a circle.
    """
    angle = 2 * np.pi * np.arange(feet) / feet
    legs = {f"foot{k}": {"type": "sphere", "radius": 0.01, "pose": {"xyz": [0.5 * np.cos(a), 0.5 * np.sin(a), -0.09]}}
            for k, a in enumerate(angle)}
    corners = np.array([[0, 0], [0.2, 0], [0.5, 0.4], [0.5, 0]])  # of the four-bar; the last is in the ground
    links = {f"link{k}": {"mass": 1, "inertia": {"diag": [0.01, 0.01, 0.01]},
                          "pose": {"xyz": [float(x), 9, 2 + float(z)]}}
             for k, (x, z) in enumerate((corners[:-1] + corners[1:]) / 2)}
    ends = ("world", *links, "world")
    pins = {f"pin{k}": {"type": "revolute", "parent": ends[k], "child": ends[k + 1], "axis": [0, 1, 0],
                        "at": [float(x), 9, 2 + float(z)]}
            for k, (x, z) in enumerate(corners)}
    pins["pin3"].update(parent="world", child="link2")
    pins["pin0"]["qd"] = 3.0
    return {
        **ROUGH,
        "params": {"pull": 12.0, "push": 0.0},
        "bodies": {
            "bottom": {"mass": 2, "pose": {"xyz": [0, 0, 0.1]}, "shapes": {"box": {"type": "box", "size": [4, 2, 0.2]}}},
            "top": {"mass": 1, "pose": {"xyz": [0, 0, 0.25]}, "shapes": {"box": {"type": "box", "size": [0.5, 0.5, 0.1]}}},
            "table": {"mass": 20, "pose": {"xyz": [0, 5, 0.1]}, "inertia": {"diag": [1.7, 1.7, 3.3]},
                      "shapes": legs},
            **links,
        },
        "joints": pins,
        "forces": {"pull": {"type": "wrench", "body": "bottom", "force": ["${pull}", 0, 0]},
                   "push": {"type": "wrench", "body": "table", "force": ["${push*0.5*20*9.81}", 0, 0], "at": [0, 0, -0.1]}},
        "contact": {"exclude": [["top", "ground"], ["table", "top"], ["table", "bottom"]],
                    "pairs": [{"a": "top", "b": "bottom", "friction": 0.4},
                              {"a": "bottom", "b": "ground", "friction": 0.2}]},
    }


def tower(n):
    """Boxes on each other; the mass of the top one is `top` times that of the others."""
    box, mass = {"type": "box", "size": [0.5, 0.5, 0.1]}, 25.0
    bodies = {f"b{k}": {"mass": mass, "pose": {"xyz": [0, 0, 0.05 + 0.1 * k]}, "shapes": {"box": box}} for k in range(n)}
    bodies[f"b{n - 1}"]["mass"] = f"${{{mass}*top}}"
    return {**ROUGH, "params": {"top": 1.0}, "bodies": bodies}


def pyramid(rows):
    """Cubes in rows, one less in each, each over the gap of two."""
    bodies = {}
    for r in range(rows):
        for k in range(rows - r):
            bodies[f"r{r}k{k}"] = {"mass": 1, "pose": {"xyz": [0.205 * (k + 0.5 * r), 0, 0.1 + 0.2 * r]},
                                   "shapes": {"box": {"type": "box", "size": [0.2, 0.2, 0.2]}}}
    return {**ROUGH, "bodies": bodies}


FACES = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))  # of eight corners, outwards


def arch(folder, n, thickness, depth=0.4):
    """A half circle of n voussoirs of mean radius 1 on the ground.

    Args:
        folder: for the file of the mesh.
        n: voussoirs.
        thickness: [m].
        depth: [m].
    """
    half = np.pi / n / 2
    corners = [(r * np.cos(a), y, r * np.sin(a)) for y in (-depth / 2, depth / 2)
               for a in (np.pi / 2 + half, np.pi / 2 - half) for r in (1 - thickness / 2, 1 + thickness / 2)]
    lines = [" ".join(("v", *(repr(float(x)) for x in corner))) for corner in corners]
    lines += [f"f {a + 1} {b + 1} {c + 1}\nf {a + 1} {c + 1} {d + 1}" for a, b, c, d in FACES]
    (folder / "voussoir.obj").write_text("\n".join(lines) + "\n")
    stone = {"type": "mesh", "file": "voussoir.obj", "density": 2000, "convex": True}
    names = [f"v{k}" for k in range(n)]
    apart = [[names[i], names[j]] for i in range(n) for j in range(i + 2, n)]
    apart += [[name, "ground"] for name in names[1:-1]]
    bodies = {name: {"shapes": {"stone": stone}, "pose": {"rpy": [0, float((k + 0.5) * np.pi / n - np.pi / 2), 0]}}
              for k, name in enumerate(names)}
    return {**ROUGH, "materials": {"m": {"friction": 0.8}}, "contact": {"exclude": apart}, "bodies": bodies}


def pile(worlds, boxes=6, balls=4):
    """Boxes and balls of random sizes, masses and places, thrown into a box; every world another throw."""
    rng = np.random.default_rng(5)
    ranges = {"x": (-0.25, 0.25), "y": (-0.25, 0.25), "m": (0.2, 5), "a": (0, 3), "s": (0.5, 1)}
    vary, bodies = {"mu": rng.uniform(0.1, 1, worlds)}, {}
    for k in range(boxes + balls):
        name = f"b{k}"
        vary |= {f"{name}_{key}": rng.uniform(*limits, worlds) for key, limits in ranges.items()}
        shape = {"type": "box", "size": [0.2, f"${{0.24*{name}_s}}", 0.16]}
        if k >= boxes:
            shape = {"type": "sphere", "radius": f"${{0.11*{name}_s}}"}
        x, y, a = (f"${{{name}_{key}}}" for key in "xya")
        pose = {"xyz": [x, y, 0.2 + 0.25 * k], "rpy": [a, 0.3, a]}
        bodies[name] = {"mass": f"${{{name}_m}}", "pose": pose, "velocity": {"linear": [0, 0, -2]},
                        "shapes": {"one": shape}}
    walls = {"ground": [0, 0, 1], "left": [1, 0, 0], "right": [-1, 0, 0], "front": [0, 1, 0], "back": [0, -1, 0]}
    return {
        **ROUGH,
        "params": {key: float(values[0]) for key, values in vary.items()},
        "materials": {"m": {"friction": "${mu}"}},
        "world": {"shapes": {name: {"type": "plane", "normal": normal, "offset": 0 if name == "ground" else -0.45}
                             for name, normal in walls.items()}},
        "bodies": bodies,
        "contact": {"capacity": 100},
        "batch": {"worlds": worlds, "vary": {f"params.{key}": {"list": values.tolist()} for key, values in vary.items()}},
    }


def rod():
    """A thin rod between two points, over the ground; `tilt` is the direction from its first end to its second."""
    ends = {name: {"type": "sphere", "radius": 0, "pose": {"xyz": [x, 0, 0]}} for name, x in (("a", -0.5), ("b", 0.5))}
    params = {"x": 0.0, "tilt": 0.0, "u": 0.0, "v": 0.0, "w": 0.0, "gap": 0.0, "mu": 0.0, "e": 0.0, "g": GRAVITY}
    body = {"mass": 1, "inertia": {"diag": [1e-3, 1 / 12, 1 / 12]}, "shapes": ends,
            "pose": {"xyz": ["${0.5*cos(tilt) + x}", 0, "${0.5*sin(tilt) + gap}"], "rpy": [0, "${-tilt}", 0]},
            "velocity": {"linear": ["${u}", 0, "${v}"], "angular": [0, "${-w}", 0]}}
    return {**ROUGH, "params": params, "materials": {"m": {"friction": "${mu}", "restitution": "${e}"}},
            "world": {"gravity": [0, 0, "${-g}"], **ROUGH["world"]}, "bodies": {"rod": body}}


def top(spin, lean, mass=1.0, length=0.1, across=0.002, along=0.0035):
    """A symmetric top that precesses steadily with its point at the origin, on the ground.

        A p^2 cos(lean) - C spin p + m g l = 0,  A = across + m l^2

    Args:
        spin: [rad/s], about its axis.
        lean: [rad], from the vertical.
        mass: [kg].
        length: [m], from the point to the centre of mass.
        across, along: [kg m^2], about the centre of mass.

    Returns:
        The scene; [rad/s], p, the slower one; length.
    """
    a, c = across + mass * length**2, along
    roots = np.roots([a * np.cos(lean), -c * spin, mass * GRAVITY * length])
    rate = float(roots.min())
    axis = np.array([np.sin(lean), 0, np.cos(lean)])
    angular = np.array([0, 0, rate]) + (spin - rate * np.cos(lean)) * axis
    centre = length * axis
    body = {"mass": mass, "inertia": {"diag": [across, across, along]},
            "pose": {"xyz": centre.tolist(), "rpy": [0, float(lean), 0]},
            "velocity": {"linear": np.cross(angular, centre).tolist(), "angular": angular.tolist()},
            "shapes": {"tip": {"type": "sphere", "radius": 0, "pose": {"xyz": [0, 0, -length]}}}}
    return {**ROUGH, "bodies": {"top": body}}, rate, length


def quadruped():
    """A trunk on four legs of three driven hinges, a little above the ground."""
    bodies = {"torso": {"mass": 12, "pose": {"xyz": [0, 0, 0.42]},
                        "shapes": {"box": {"type": "box", "size": [0.6, 0.3, 0.12], "collide": False}}}}
    joints, bend = {}, 0.6

    def hinge(parent, child, z, axis, angle, limit):
        drive = {"mode": "position", "target": angle, "stiffness": 150, "damping": 4, "effort_limit": 40}
        return {"type": "revolute", "parent": parent, "child": child, "at": [x, y, z], "axis": axis, "q": angle,
                "drive": drive, "friction": 0.1, "limit": limit}

    for leg, x, y in (("fl", 0.25, 0.17), ("fr", 0.25, -0.17), ("hl", -0.25, 0.17), ("hr", -0.25, -0.17)):
        hip, thigh, calf = (f"{leg}_{part}" for part in ("hip", "thigh", "calf"))
        foot = {"type": "sphere", "radius": 0.02, "pose": {"xyz": [0, 0, -0.2]}}
        bodies[hip] = {"mass": 0.7, "inertia": {"diag": [1e-3, 1e-3, 1e-3]}, "pose": {"xyz": [x, y, 0.42]}}
        bodies[thigh] = {"mass": 1, "inertia": {"diag": [4e-3, 4e-3, 1e-3]}, "pose": {"xyz": [x, y, 0.42]},
                         "com": [0, 0, -0.1]}
        bodies[calf] = {"mass": 0.3, "inertia": {"diag": [2e-3, 2e-3, 2e-4]}, "pose": {"xyz": [x, y, 0.22]},
                        "com": [0, 0, -0.1], "shapes": {"foot": foot}}
        joints[f"{leg}_ab"] = hinge("torso", hip, 0.42, [1, 0, 0], 0.0, [-0.8, 0.8])
        joints[f"{leg}_hip"] = hinge(hip, thigh, 0.42, [0, 1, 0], bend, [-1.5, 1.5])
        joints[f"{leg}_knee"] = hinge(thigh, calf, 0.22, [0, 1, 0], -2 * bend, [-2.5, -0.3])
    reach = float(0.4 * np.cos(bend)) + 0.02
    ground = {"type": "plane", "offset": 0.42 - reach - 0.05}
    return {**ROUGH, "params": {"mu": 0.8}, "materials": {"m": {"friction": "${mu}"}}, "bodies": bodies, "joints": joints,
            "world": {"shapes": {"ground": ground}}}


def chain(n, ratio, link=0.1, mass=0.1):
    """Links on ball joints, level at the start; the last one is `ratio` times as heavy, and a ball far over the ground."""
    bodies = {f"l{k}": {"mass": mass, "inertia": {"diag": [1e-4] * 3}, "pose": {"xyz": [(k + 0.5) * link, 0, 0]}}
              for k in range(n)}
    bodies[f"l{n - 1}"].update(mass=mass * ratio, inertia={"diag": [1e-4 * ratio] * 3},
                               shapes={"ball": {"type": "sphere", "radius": 0.4 * link}})
    joints = {f"j{k}": {"type": "ball", "parent": f"l{k - 1}" if k else "world", "child": f"l{k}", "at": [k * link, 0, 0]}
              for k in range(n)}
    return {**ROUGH, "world": {"shapes": {"ground": {"type": "plane", "offset": -20}}}, "bodies": bodies, "joints": joints}


def rollers():
    """A cylinder, a capsule and an ellipsoid that lie on the ground along y, of radius RADIUS."""
    shapes = {"cylinder": {"type": "cylinder", "radius": RADIUS, "length": 0.4},
              "capsule": {"type": "capsule", "radius": RADIUS, "length": 0.3},
              "ellipsoid": {"type": "ellipsoid", "radii": [RADIUS, RADIUS, 0.2]}}
    bodies = {name: {"mass": 1, "shapes": {"one": shape}, "pose": {"xyz": [0, 2 * k, RADIUS], "rpy": ["90 deg", 0, 0]},
                     "velocity": {"linear": ["${v}", 0, 0], "angular": [0, "${w}", 0]}}
              for k, (name, shape) in enumerate(shapes.items())}
    apart = [["cylinder", "capsule"], ["cylinder", "ellipsoid"], ["capsule", "ellipsoid"]]
    return {**ROUGH, "materials": {"m": {"friction": 0.25}}, "params": {"v": 2.0, "w": 0.0}, "bodies": bodies,
            "contact": {"exclude": apart}}
