"""Takes one mend after the other out of a copy of the package, and shows that the metamorphic tests find it.

    python tests/metamorphic/reverts.py             # all, some minutes
    python tests/metamorphic/reverts.py A4 A13      # some, by their items of the list of defects of 2026-11

Exit code 1 if a test passes without its mend, or if the code of a mend is not there any more.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Revert(NamedTuple):
    """A mend that is taken out.

    Attributes:
        what: went wrong without it.
        file: below simcli/.
        mended: text that stands there once.
        reverted: text without the mend.
        tests: expression of pytest that chooses the tests that find it.
    """

    what: str
    file: str
    mended: str
    reverted: str
    tests: str


REVERTS = {
    "A1": Revert("efforts on free and distance joints were dropped", "kernels/forces/columns.py",
                 "Forces.__annotations__ if (one", "Forces.__annotations__ if name != 'joint_wrenches' and (one",
                 "pushed and wrenches and moreau and -0"),
    "A2": Revert("loops closed on another branch than the drawn one", "model/closure/assembly.py",
                 "q = np.where(closer.spread(self.todo & writes, closer.group_of_q), written.drawn, self.problem.q)",
                 "q = self.problem.q",
                 "branch_of_its_drawing and rk4"),
    "A3": Revert("first-order steps took the gyroscopic torque explicitly", "solvers/run/core.py",
                 'self.integrator == "semi_implicit",', "False,", "angular_momentum"),
    "A4": Revert("rolling friction was a square", "kernels/complementarity/cones.py",
                 "r = local(ti.sqrt(sum(part * part for part in y)))", "r = local(ti.max(ti.abs(y[0]), ti.abs(y[-1])))",
                 "rolling and turned and generalized and -0"),
    "A5": Revert("lines touched in one point", "kernels/collision/manifold.py", "    if reference < 0:",
                 "    if reference < -1:", "own_mirror_image and generalized and -0"),
    "A6": Revert("rounding chose the fifth point of a disc", "kernels/collision/points.py", "+ GAP) <= limit:",
                 "+ GAP) < -1e30:", "discs and turned and generalized and -0"),
    "A6b": Revert("contacts far from the origin disagreed on which gaps are none", "kernels/collision/table_rows.py",
                  '_SIZES = {"float64": 1e4, ', '_SIZES = {"float64": 1.0, ', "flats and far and generalized"),
    "A7": Revert("terrain had normals across its crests", "kernels/collision/terrain.py", "if is_valid and n_edges > 1:",
                 "if is_valid and n_edges > 9:", "crests and generalized and -0"),
    "A8": Revert("a joint with the world took contact away", "spec/lookup/parting.py",
                 "return WORLD_NAME not in self[:2] and dofs.SAME", "return dofs.SAME", "tether and generalized and -0"),
    "A13": Revert("bdf2 reached back across an impact", "kernels/potentials/potential_terms.py",
                  "push_of(y, w, k, x, y.push.load(w, 2 * k + 1), 1) > 0.0", "y.push.load(w, 2 * k + 1) > 0.0",
                  "stopped and bdf2"),
    "A14": Revert("reactions lacked what corrections of positions add", "solvers/run/core.py",
                  "self.looks_back = (self.touches and self.is_natural) or (corrects and shows and not self.turns)",
                  "self.looks_back = self.touches and (self.is_natural or (shows and not self.turns))",
                  "beside and touching and (maximal or generalized) and semi_implicit and -0"),
    "A14b": Revert("contact left self-stress in redundant rows", "solvers/impulses/solution.py", "_TIMES = 2",
                   "_TIMES = 0", "loop and of and bodies and beside and maximal"),
    "A15": Revert("what friction held on a turntable crept outward", "solvers/impulses/contact_rhs.py", "* (0.5 * step)",
                  "* (0.0 * step)", "turntable and maximal and -0"),
}


def main(names: list[str]) -> int:
    """Try the reverts of these names, or all."""
    wrong = []
    for name in names or REVERTS:
        revert = REVERTS[name]
        with tempfile.TemporaryDirectory() as folder:
            found = is_found(Path(folder), revert)
        print(f"{name}: {revert.what}: {found}", flush=True)
        wrong += [name] if found != "found" else []
    return bool(wrong)


def is_found(folder: Path, revert: Revert) -> str:
    """What the tests say of a copy of the package in a folder without a mend."""
    for part in ("simcli", "tests", "scenes", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    path = folder / "simcli" / revert.file
    text = path.read_text()
    if text.count(revert.mended) != 1:
        return f"its code stands {text.count(revert.mended)} times in {revert.file}"
    path.write_text(text.replace(revert.mended, revert.reverted))
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-m", "", "-k", revert.tests, "tests/metamorphic"]
    env = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    return {0: "NOT FOUND", 1: "found"}.get(done.returncode, f"no test ran: {done.stdout[-300:]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
