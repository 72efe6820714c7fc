"""The scenes of `simcli bench` that touch: falling humanoids, stacks of boxes."""

from pathlib import Path

HUMANOID = Path(__file__).resolve().parents[2] / "docs" / "humanoid.yaml"
PUSHED = ("bodies.torso.velocity={linear: [0, 0, 0]}",
          'batch.vary={"bodies.torso.velocity.linear[0]": {uniform: [-0.5, 0.5]}, '
          '"bodies.torso.velocity.linear[1]": {uniform: [-0.5, 0.5]}}')  # fmt: skip
LOOSE = ("name=humanoid_1e-5", "solver.contact.tolerance=1.0e-5")  # a thousand times the default, in m/s
STACK = """simcli: 1
name: stacks
params: {{d: 0.0}}
materials: {{m: {{density: 1000, friction: 0.5}}}}
world: {{shapes: {{ground: {{type: plane, material: m}}}}}}
bodies:
{boxes}solver: {{type: generalized, dt: 0.005}}
run: {{duration: 1.0}}
output: {{every: 0.05}}
batch: {{seed: 1, vary: {{params.d: {{uniform: [0.0, 0.02]}}}}}}
"""
_BOX = ('  b{i}: {{pose: {{xyz: ["${{{sign} * d}}", 0, "${{{z} + {i} * d / 4}}"]}}, '
       "shapes: {{s: {{type: box, size: [0.2, 0.2, 0.2], material: m}}}}}}\n")  # fmt: skip


def stacks(folder: Path) -> Path:
    """Five boxes that fall on each other, a little askew and apart, every world by another distance."""
    boxes = "".join(_BOX.format(i=i, sign=(-1) ** i, z=round(0.1 + 0.2 * i, 3)) for i in range(5))
    path = folder / "stacks.yaml"
    path.write_text(STACK.format(boxes=boxes))
    return path
