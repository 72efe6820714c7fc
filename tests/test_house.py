"""The floors of the house: imports only go down, and heavy libraries stay in the rooms that own them.

`simcli docs house`: every file and function that the page names is there, and so are the lists of all integrators. Its
recipes are followed in a copy of the package: what they make runs, and a line that is left out is named by an import.

Taichi gets the same texts of device functions as by its own search, which is most of the time of a start.
"""

import ast
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy.optimize import brentq
from support.process import TIMEOUT, environment, python
from support.recipes import RECIPES, copy_with, in_copy
from support.slow_cases import SLOW_CASES

import simcli
import simcli.kernels
import simcli.solvers
from simcli.kernels.language import internals, ti
from simcli.kernels.language.internals import kernel_impl
from simcli.model.tables import model
from simcli.model.tables.table_base import Table
from simcli.spec.schema.forces import FORCES
from simcli.spec.schema.scene import AffineSolver, GeneralizedSolver, MaximalSolver, NaturalSolver

HOUSE = Path(simcli.__file__).parent
MAX_LINES = 350  # of a file of the package
FLOORS = {
    "errors": 0,
    "arguments": 2,
    "engines": 1,
    "release": 0,
    "rotations": 0,
    "joint_types": 0,
    "output_channels": 0,
    "spec": 1,
    "model": 2,
    "exchange": 3,
    "kernels": 3,
    "records": 3,
    "solvers": 4,
    "analysis": 4,
    "view": 5,
    "job": 5,
    "pipeline": 6,
    "simulation": 7,
    "sweeps": 7,
    "search": 8,
    "cli": 9,
    "docs": 9,
    "__main__": 10,
}
# Folders of each room, from the bottom up; "." is the room's own, whose door takes part.
FOLDER_FLOORS = {
    "analysis": (".", "worlds", "states", "diff", "mechanics", "export", "rest"),
    "cli": (".", "mechanics", "runs", "results", "sweeps", "scenes"),
    "exchange": ("source", "urdf", "mjcf", "sdf", "usd", "writing", "."),
    "kernels": (
        "language",
        "device",
        "collision",
        "complementarity",
        "articulation",
        "rows",
        "forces",
        "barrier",
        "potentials",
        "rays",
        ".",
    ),
    "model": ("tables", "joints", "signals", "bodies", "forces", "constraints", "forms", "closure", "."),
    "records": (".", "contents", "reading", "integrity", "writing"),
    "solvers": ("base", "rows", "impulses", "output", "tree", "natural", "affine", "run", "."),
    "spec": ("base", "values", "schema", "lookup", "document", "faults", "expansion", "batches", "checks", "."),
    "sweeps": ("records", "executors", "."),
    "view": ("drawing", ".", "page"),
}
MOST_PACKAGES, MOST_MODULES = 75, 720
# Stems in more than three rooms, each parallel on purpose.
SHARED_STEMS: set[str] = set()
OWNERS = {  # library -> rooms that may import it
    "h5py": {"records"},
    "yaml": {"spec"},
    "pydantic": {"spec"},
    "typer": {"cli"},
    "rich": {"cli"},
    "matplotlib": {"analysis"},
    "plotext": {"analysis"},
    "pyarrow": {"analysis", "spec"},
    "PIL": {"view", "model"},
    "av": {"view"},
    "cma": {"search"},
    "mujoco": {"exchange"},
    "coacd": {"exchange"},
    "trimesh": {"exchange"},
    "collada": {"exchange"},
    "pxr": {"exchange", "view"},
    "pinocchio": set(),
    "distributed": {"sweeps"},
    "sphinx": {"cli"},
    "docutils": {"cli"},
}
# HDF5 crashes at interpreter exit once a write has failed, so the recorder's process leaves without one.
MAY_EXIT = {"records/writing/recorder_process.py", "sweeps/executors/worker.py"}
MOST_OF_STAGE = 36  # statements of a device function
# Rooms with longer ones: collision.
LONG_STAGES = {
    "kernels/collision/epa.py",
    "kernels/collision/features.py",
    "kernels/collision/gjk.py",
    "kernels/collision/rounds.py",
}
MOST_FILES = 16  # Python files of a folder, its door among them
MOST_OF_FUNCTION, MOST_NESTED = 53, 4  # statements; loops and conditions within each other
# Names that several modules have on purpose; all others are of one. Add here what is parallel, not what is in the way.
PARALLEL = {
    "Bushings",
    "Contacts",
    "Core",
    "DIAGNOSTICS",
    "Laws",
    "Limits",
    "NODES",
    "Rows",
    "Signals",
    "Springs",
    "Wrenches",
    "AffineSolver",
    "MaximalSolver",
    "NaturalSolver",
    "BALL",
    "BOX",
    "CAPSULE",
    "CONE",
    "FREE",
    "HALF_SPACE",
    "MESH",
    "PLANE",
    "ROUND",
    "account",
    "assemble",
    "begin",
    "begin_evaluation",
    "factorize",
    "factorize_blocks",
    "go_back",
    "put",
    "report",
    "substitute",
    "substitute_blocks",
    "work_of_step",
    "main",
    "run",
    "solve",
    "table",
    "write",
    "multiply",
    "rotation_log",
    "spin_of_vector",
    "transpose",
    "vector",
}
LEAVING = {"print", "sys.exit", "os._exit", "exit"}
FILES = sorted(path for path in HOUSE.rglob("*.py"))
INTERNALS = HOUSE / "kernels" / "language" / "internals.py"
OF_ENGINES = [INTERNALS.with_name("engine_taichi.py"), INTERNALS.with_name("engine_quadrants.py")]
BELOW = {"ti.lang", "ti._lib", "ti._kernels", "ti._snode", "ti._ti_core"}  # Taichi's public interface


def room_of(path: Path) -> str:
    """The room a file stands in; the front door (`simcli/__init__.py`) is ''."""
    first = path.relative_to(HOUSE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path), filename=str(path))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree_of(path)))


@cache
def imports_of(path: Path) -> list[tuple[str, int]]:
    """(module, line) of every import anywhere in a file; `from simcli import x` counts as simcli.x."""
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import at line {node.lineno}"
            if node.module == "simcli":
                found += [(f"simcli.{alias.name}", node.lineno) for alias in node.names]
            else:
                found.append((node.module, node.lineno))
    return found


def offences(rule: Callable[[Path], Iterator[str]]) -> list[str]:
    """What a rule has against each file of the house."""
    return [f"{path.relative_to(HOUSE)}: {words}" for path in FILES for words in rule(path)]


def test_every_room_stands_on_a_floor():
    rooms = {room_of(path) for path in FILES} - {""}
    assert rooms <= set(FLOORS)


def upward_imports(path):
    room = room_of(path)
    for module, line in imports_of(path) if room else ():  # the front door is tested below to import nothing when it opens
        parts = module.split(".")
        if parts[0] != "simcli" or len(parts) == 1 or parts[1].startswith("__"):
            continue
        target = parts[1]
        if target not in FLOORS:
            yield f"line {line}: {module} is no room"
        elif target != room and FLOORS[target] >= FLOORS[room]:
            yield f"line {line}: {room} must not import {target}"


def test_imports_go_down():
    assert offences(upward_imports) == []


def folder_of(module: str) -> tuple[str, str]:
    """Room and folder of a module; of a room itself, and of its files, the folder is "."."""
    parts = module.split(".")[1:]
    is_package = HOUSE.joinpath(*parts, "__init__.py").exists()
    return parts[0], parts[1] if len(parts) > (1 if is_package else 2) else "."


def imported_modules(path: Path) -> Iterator[tuple[str, int]]:
    """(module, line) of every import of this package anywhere in a file, down to the module that holds the name."""
    for node in nodes_of(path):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if is_module(name) else node.module for name in inner]
        yield from ((name, node.lineno) for name in names if name.startswith("simcli."))


@cache
def is_module(name: str) -> bool:
    path = HOUSE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.joinpath("__init__.py").exists()


def test_every_folder_has_its_floor():
    found = {
        room: {path.name for path in (HOUSE / room).iterdir() if (path / "__init__.py").exists()} | {"."}
        for room in FLOORS
        if (HOUSE / room).is_dir() and room != "docs"
    }
    assert {room: set(folders) for room, folders in FOLDER_FLOORS.items()} == {
        room: folders for room, folders in found.items() if folders != {"."}
    }


def upward_folders(path):
    room, folder = folder_of(".".join(path.relative_to(HOUSE.parent).with_suffix("").parts).removesuffix(".__init__"))
    order = FOLDER_FLOORS.get(room, (".",))
    for module, line in imported_modules(path):
        target, below = folder_of(module)
        if target == room and order.index(below) > order.index(folder):
            yield f"line {line}: {folder} must not import {below}"


def test_folders_go_down():
    """Late imports and those for types count as well."""
    assert offences(lambda path: upward_folders(path) if room_of(path) in FOLDER_FLOORS else ()) == []


def test_folders_are_few_and_flat():
    doors = [path for path in FILES if path.name == "__init__.py"]
    assert len(doors) <= MOST_PACKAGES
    assert len(FILES) <= MOST_MODULES
    assert [path for path in FILES if len(path.relative_to(HOUSE).parts) > 3] == []


def test_a_stem_is_of_three_rooms_at_most():
    rooms: dict[str, set[str]] = {}
    for path in FILES:
        if path.name != "__init__.py":
            rooms.setdefault(path.stem, set()).add(room_of(path))
    assert {stem for stem, found in rooms.items() if len(found) > 3} == SHARED_STEMS


def test_pages_that_are_cited_exist():
    """Sources are author, year and equation; what is cited as a file is in the repository."""
    pages = {page.name for page in (HOUSE / "docs").iterdir()} | {"README.md"}

    def missing(path):
        cited = re.findall(r"[\w/-]+\.md\b", text_of(path))
        yield from sorted({name.removeprefix("docs/") for name in cited} - pages)

    assert offences(missing) == []


def test_files_that_are_cited_exist():
    """A path in a comment or docstring, as rows/memory.py, is the end of that of one file at least."""
    top = HOUSE.parent
    known = {path.relative_to(top).as_posix() for folder in (HOUSE, top / "tests") for path in folder.rglob("*.py")}
    ends = {name.split("/", n)[-1] for name in known for n in range(name.count("/"))}

    def missing(path):
        cited = re.findall(r"(?<![\w./-])(\w+(?:/\w+)+\.py)\b", text_of(path))
        yield from sorted(set(cited) - ends)

    assert offences(missing) == []


def statements(function: ast.FunctionDef) -> int:
    """How many statements a function has, those of functions within it as well."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1


def test_stages_are_short():
    """Functions of the device; a room that has mended its long ones leaves the list."""
    long = {}
    for path in FILES:
        functions = [
            node
            for node in nodes_of(path)
            if isinstance(node, ast.FunctionDef)
            and any(ast.unparse(one) in ("ti.func", "procedure") for one in node.decorator_list)
        ]
        if names := [node.name for node in functions if statements(node) >= MOST_OF_STAGE]:
            long[path.relative_to(HOUSE).as_posix()] = names
    assert long.keys() == LONG_STAGES, long


def test_libraries_stay_with_their_owners():
    def strangers(path):
        room = room_of(path)
        for module, line in imports_of(path):
            library = module.split(".")[0]
            if room not in OWNERS.get(library, {room}):
                yield f"line {line}: {library} belongs to {sorted(OWNERS[library])}"

    assert offences(strangers) == []


def test_packages_of_engines_are_named_in_one_place():
    """Whoever else asked for one by name would do without it where the other one runs, and say nothing."""
    sources = {*FILES, *Path(__file__).parent.rglob("*.py")} - set(OF_ENGINES)
    imported = [path for path in sources if re.search(r"\b(?:from|import) (?:taichi|quadrants)\b", text_of(path))]
    texts = [
        path
        for path in {*FILES} - {HOUSE / "engines.py", *OF_ENGINES}
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and re.search(r"\b(?:taichi|quadrants)\b", str(node.value))
    ]
    assert (imported, texts) == ([], [])


def test_engines_have_the_same_names():
    """What one file says of its engine, the other one says, too."""
    names = [public_names(path) for path in OF_ENGINES]
    assert names[0] == names[1]


def test_what_is_below_taichis_public_interface_is_taken_from_one_file():
    def taken(path):
        if path not in (INTERNALS, *OF_ENGINES):
            yield from sorted({ast.unparse(node) for node in nodes_of(path) if isinstance(node, ast.Attribute)} & BELOW)
        if INTERNALS.parent not in path.parents:
            yield from ("internals" for module, _ in imports_of(path) if module == "simcli.kernels.language.internals")

    assert offences(taken) == []


@pytest.mark.parametrize(
    ("module", "banned"),
    [
        ("simcli", {"typer", "numpy", "h5py", "taichi", "pydantic", "yaml"}),
        ("simcli.cli.app", {"numpy", "h5py", "taichi", "pydantic", "yaml", "rich", "matplotlib"}),
        ("simcli.spec", {"h5py", "taichi"}),
        ("simcli.model.tables.model", {"h5py", "taichi", "pydantic", "yaml"}),
        ("simcli.records.reading.reader", {"taichi", "pydantic", "yaml"}),
        ("simcli.pipeline", {"h5py", "taichi", "pydantic", "yaml"}),
    ],
)
def test_opening_a_room_loads_no_more_than_it_needs(module, banned):
    loaded = set(python(f"import sys, {module}; print(*sys.modules)").split())
    assert not loaded & banned


def test_front_door_imports_nothing_when_it_opens():
    top = tree_of(HOUSE / "__init__.py").body
    assert not [node for node in top if isinstance(node, ast.Import | ast.ImportFrom)]


def test_only_the_command_line_prints_or_exits():
    def leaving(path):
        allowed = {"os._exit"} if path.relative_to(HOUSE).as_posix() in MAY_EXIT else set()
        for node in nodes_of(path) if room_of(path) not in {"cli", "__main__"} else ():
            if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in LEAVING - allowed:
                yield f"line {node.lineno}: {called}"

    assert offences(leaving) == []


def test_files_stay_short():
    def too_long(path):
        n = len(text_of(path).splitlines())
        yield from [f"{n} lines"] * (n > MAX_LINES)

    assert offences(too_long) == []


@pytest.mark.parametrize("room", ["kernels", "solvers"])
def test_device_code_keeps_real_annotations(room):
    # Taichi reads annotations as objects; postponed ones are strings to it.
    for path in (HOUSE / room).rglob("*.py"):
        assert ("__future__", "annotations") not in [
            (node.module, alias.name) for node in nodes_of(path) if isinstance(node, ast.ImportFrom) for alias in node.names
        ], path


def test_every_package_has_a_sign_on_its_door():
    for folder in {path.parent for path in FILES}:
        door = folder / "__init__.py"
        assert door.exists(), folder
        assert ast.get_docstring(tree_of(door)), f"{door} has no docstring"


def test_every_module_says_what_it_is():
    for path in FILES:
        assert ast.get_docstring(tree_of(path)), path


def test_rooms_are_small():
    folders = {path.parent for path in FILES}
    assert [folder for folder in folders if len(list(folder.glob("*.py"))) > MOST_FILES] == []


def public_names(path: Path) -> set[str]:
    """Functions, classes and constants at the top of a file that others may use."""
    found = set()
    for node in tree_of(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {
                name.id
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }
    return {name for name in found if not name.startswith("_")}


def test_a_public_name_means_one_thing():
    """What only its own module uses has an underscore; what two modules have is parallel on purpose, or renamed."""
    files = [path for path in FILES if path.name != "__init__.py" and path != OF_ENGINES[1]]  # engines are parallel
    count = Counter(name for path in files for name in public_names(path))
    doubles = {name for name, n in count.items() if n > 1}
    assert doubles - PARALLEL == set()
    assert PARALLEL - doubles == set(), "these have become one: take them off the list"


def nested(node: ast.AST, depth: int = 0) -> int:
    """How deep conditions, loops and contexts of a function stand within each other."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            continue
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
        is_deeper = isinstance(child, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.Match) and not is_elif
        deepest = max(deepest, nested(child, depth + is_deeper))
    return deepest


def test_functions_are_short_and_flat():
    long, deep = set(), set()
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                name = f"{path.relative_to(HOUSE).as_posix()}:{node.name}"
                long |= {name} if statements(node) >= MOST_OF_FUNCTION else set()
                deep |= {name} if nested(node) > MOST_NESTED else set()
    assert (long, deep) == (set(), set())


@pytest.mark.parametrize("workers", ["0", "1"])
def test_tests_on_a_gpu_are_counted_by_their_mark(workers, tmp_path):
    """Neither the name of a folder nor that of a test makes one of them; workers hand their reports on."""
    folder = tmp_path / "gpu"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = gpu: needs one\n")
    (folder / "test_them.py").write_text(
        "import pytest\n\n\n@pytest.mark.gpu\n@pytest.mark.parametrize('k', range(3))\n"
        "def test_one(k):\n    assert k != 1\n    if k == 2:\n        pytest.skip()\n\n\n"
        "def test_gpu():\n    pass\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", workers, str(folder)]
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])  # of what the copy imports
    env = environment() | {"PYTHONPATH": paths}
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=env, timeout=TIMEOUT)
    assert "tests on a GPU: 2\n" in done.stdout, done.stdout
    assert "1 failed, 2 passed, 1 skipped" in done.stdout


@pytest.mark.parametrize("name", SLOW_CASES)
def test_slow_cases_are_those_of_tests_that_exist(name):
    """A name that is gone would make nothing slow, and say nothing."""
    text = Path(__file__).with_name(f"{name}.py").read_text()
    functions = {case.partition("[")[0] for case in SLOW_CASES[name]}
    assert {function for function in functions if f"def {function}(" not in text} == set()


PAGE_HOUSE = Path(simcli.__file__).parent
PAGE = (PAGE_HOUSE / "docs" / "house.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?::(\w+))?`", PAGE)))
FOLDERS = sorted(set(re.findall(r"`((?:\w+/)+)`", PAGE)))


def names_in(path):
    """Functions, classes and constants at the top of a file."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_what_is_named_exists(file, name):
    path = PAGE_HOUSE.parent / file if file.startswith("tests/") else PAGE_HOUSE / file
    assert path.is_file()
    assert not name or name in names_in(path)


def test_folders_exist():
    assert FOLDERS
    assert [name for name in FOLDERS if not (PAGE_HOUSE / name).is_dir()] == []


def test_the_step_of_every_integrator_is_named():
    """Lines as `- solver, solver with integrator, integrator: file`."""
    part = PAGE.partition("## Where a step is spelled")[2].partition("##")[0]
    listed = set()
    for solvers, integrators in re.findall(r"^- ([\w, ]+) with ([\w, ]+):", part, re.MULTILINE):
        listed |= {(solver, word) for solver in solvers.split(", ") for word in integrators.split(", ")}
    for spec in (GeneralizedSolver, MaximalSolver, NaturalSolver, AffineSolver):
        (solver,) = get_args(spec.model_fields["type"].annotation)
        for integrator in get_args(spec.model_fields["integrator"].annotation):
            assert integrator == "auto" or (solver, integrator) in listed


def test_the_spelling_of_every_force_is_named():
    """Lines as `- element, element: transmission; law`."""
    part = PAGE.partition("## Where a force is spelled")[2].partition("##")[0]
    told = {word for words in re.findall(r"^- ([\w, ]+):", part, re.MULTILINE) for word in words.split(", ")}
    assert {force.type_name() for force in FORCES} <= told


RADIUS, MASS, SPEED_AT_START = 1.0, 2.0, 2.2  # [m], [kg], [m/s]
PULLS = [8.0, 8.8]  # [N m^2], of two worlds, whose orbits are ellipses
OFF, END = 600, 800  # steps at which the pull ends, and the run
ORBIT = f"""
simcli: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  moon:
    mass: {MASS}
    inertia: {{diag: [0.1, 0.1, 0.1]}}
    pose: {{xyz: [{RADIUS}, 0, 0]}}
    velocity: {{linear: [0, {SPEED_AT_START}, 0]}}
forces: {{pull: {{type: magnet, a: {{world: [0, 0, 0]}}, b: {{body: moon, at: [0, 0, 0]}}, strength: {PULLS[0]}}}}}
sensors: {{pace: {{type: speed, at: moon}}}}
measure: {{least: {{min_abs: body.moon.velocity, component: 1}}}}
events: [{{at: {OFF * 1e-3}, set: {{forces.pull.strength: 0}}}}]
solver: {{type: SOLVER, integrator: INTEGRATOR, dt: 1 ms}}
run: {{duration: {END * 1e-3}}}
output: {{every: 1 ms, channels: [state, energy, twists], quantities: [sensor.pace.speed]}}
batch: {{worlds: 2, vary: {{forces.pull.strength: {{list: {PULLS}}}}}}}
"""
SHOWN_OF_ORBIT = """
import json
import simcli

run = simcli.open("orbit.h5")
body = run.body("moon")
found = {
    "position": body.position[...].tolist(),
    "velocity": body.velocity[...].tolist(),
    "twist": body.twist[..., :3].tolist(),
    "speed": run.column("frames/quantity")[..., 0].tolist(),
    "least": run.measures["least"].value.tolist(),
    "strength": run.model["magnet_strength"].tolist(),
    "drift": abs(run.energy.drift[...]).max(axis=0).tolist(),
}
print(json.dumps(found))
"""
NEAR_ORBIT = {"rk4": 1e-9, "zhong06": 1e-5, "implicit": 1e-4, "semi_implicit": 2e-2}  # [m, m/s], by order, of steps of 1 ms


@pytest.mark.parametrize("words", RECIPES)
def test_a_recipe_of_the_page_names_its_files(words):
    """As many as it says; of a new one its folder."""
    (line,) = re.findall(rf"^- {words}.*?(?=^- )", PAGE, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`([\w/]+(?:\.py|/))(?::\w+)?`", line))
    new = {name for name, change in RECIPES[words].items() if isinstance(change, str)}
    assert {name.rpartition("/")[0] + "/" if name in new else name for name in RECIPES[words]} <= named
    assert f"{len(RECIPES[words])} files" in line


@pytest.fixture(scope="module")
def with_recipes(tmp_path_factory):
    return copy_with(tmp_path_factory.mktemp("recipes"), *RECIPES.values())


def on_orbit(strength, t):
    """Position and velocity of a point that starts at its nearest place to a pole. Source: Kepler (1609), his equation."""
    mu = strength / MASS
    shape = SPEED_AT_START**2 * RADIUS / mu - 1.0
    axis = RADIUS / (1.0 - shape)
    mean = np.sqrt(mu / abs(axis) ** 3) * t
    angle = brentq(lambda E: E - shape * np.sin(E) - mean, 0.0, mean + 1.0, xtol=1e-14)
    rate, flat = np.sqrt(mu / axis**3) / (1.0 - shape * np.cos(angle)), np.sqrt(1.0 - shape**2)
    place = axis * (np.cos(angle) - shape), axis * flat * np.sin(angle)
    return np.array([*place, 0.0]), axis * rate * np.array([-np.sin(angle), flat * np.cos(angle), 0.0])


def orbit_of(folder, solver, integrator):
    """What a run of the copy shows, which `diff` reads as well."""
    (folder / "orbit.yaml").write_text(ORBIT.replace("SOLVER", solver).replace("INTEGRATOR", integrator))
    for words in (("run", "orbit.yaml", "-o", "orbit.h5", "--force"), ("diff", "orbit.h5", "orbit.h5")):
        done = in_copy(folder, "-m", "simcli", *words)
        assert done.returncode == 0, done.stderr
    done = in_copy(folder, "-c", SHOWN_OF_ORBIT)
    assert done.returncode == 0, done.stderr
    return {name: np.array(values) for name, values in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.mark.parametrize(
    ("solver", "integrator"),
    [
        ("generalized", "rk4"),
        pytest.param("natural", "zhong06", marks=pytest.mark.full),
        pytest.param("generalized", "implicit", marks=pytest.mark.full),
        pytest.param("maximal", "semi_implicit", marks=pytest.mark.full),
    ],
)
def test_what_the_recipes_of_the_page_make_runs(solver, integrator, with_recipes):
    """A force by 1/r^2 that an event ends and a batch varies, a sensor, a channel and a reduction."""
    found, near = orbit_of(with_recipes, solver, integrator), NEAR_ORBIT[integrator]
    assert found["strength"].tolist() == [[strength] for strength in PULLS]
    for w, strength in enumerate(PULLS):
        place, velocity = on_orbit(strength, OFF * 1e-3)
        assert found["position"][OFF, w] == pytest.approx(place, abs=near)
        assert found["velocity"][OFF, w] == pytest.approx(velocity, abs=near)
        assert found["position"][END, w] == pytest.approx(place + (END - OFF) * 1e-3 * velocity, abs=near)
    assert np.array_equal(found["twist"], found["velocity"])
    assert found["speed"] == pytest.approx(np.linalg.norm(found["velocity"], axis=-1), rel=1e-12)
    assert found["least"].reshape(-1) == pytest.approx(np.abs(found["velocity"][..., 1]).min(axis=0), rel=1e-12)


LEFT_OUT_OF_RECIPES = {  # recipe, file: what an import says
    ("a force on links", "model/tables/model.py"): "`Model` of model/tables/model.py has no table with entry='magnet'",
    ("a force on links", "model/from_scene.py"): "nothing reads {'magnets'} of a scene",
    ("a force on links", "kernels/forces/columns.py"): "forces {'magnets'} would not act",
    ("a channel of frames", "records/contents/layout.py"): "channels {'twists'} are not both of DATASETS",
    ("a channel of frames", "solvers/run/frame_buffers.py"): "nothing fills {'frames/body_twist'}",
    ("a type of sensor", "solvers/output/sensor_formulas.py"): "sensors of type {'speed'} have no formula",
    ("a reduction of measures", "solvers/output/reductions.py"): "reductions {'min_abs'} would keep nothing",
}


@pytest.mark.full
@pytest.mark.parametrize(("words", "file"), LEFT_OUT_OF_RECIPES)
def test_a_line_that_is_missing_is_named_by_an_import(words, file, tmp_path):
    lines = {name: change for name, change in RECIPES[words].items() if name != file}
    done = in_copy(copy_with(tmp_path, lines), "-c", "import simcli.model.from_scene, simcli.solvers.run.engine")
    assert LEFT_OUT_OF_RECIPES[words, file] in done.stderr


def test_an_array_without_its_axes_is_refused(monkeypatch):
    @dataclass(frozen=True)
    class Odd(Table):
        mass: np.ndarray

    monkeypatch.setitem(model.TABLES, "odd", Odd)
    told = "; ".join(model._faults())
    assert "`odd` says neither `entry=`" in told
    assert "`odd.mass` is an array without `per(..)`" in told


def device_functions():
    """Every function of kernels and solvers that Taichi compiles: (Python's function, whether it stands in a class)."""
    for room in (simcli.kernels, simcli.solvers):
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            if module.name.rpartition(".")[2].startswith("engine_"):  # of which one alone is there
                continue
            names = vars(import_module(module.name))
            for owner in [names, *(vars(value) for value in names.values() if inspect.isclass(value))]:
                for value in owner.values():
                    made = getattr(value, "_primal", None) or getattr(value, "func", None)
                    if isinstance(made, kernel_impl.Func | kernel_impl.Kernel):
                        is_method = getattr(value, "_is_classfunc", False) or getattr(value, "_is_classkernel", False)
                        yield made.func, is_method


def meaning(lines):
    return ast.dump(ast.parse(textwrap.dedent("".join(lines))))


def test_texts_of_all_device_functions_are_those_of_the_file():
    found = dict(device_functions())
    assert len(found) > 300
    for function, in_class in found.items():
        lines, first = internals.source_lines(function)
        expected, line = inspect.getsourcelines(function)
        assert (meaning(lines), first) == (meaning(expected), line), function
        assert in_class == ("." in function.__qualname__.rpartition("<locals>.")[2]), function


@ti.data_oriented
class SourceTextCounter:
    @ti.kernel
    def next(self, x: ti.i32) -> ti.i32:
        return self.add(x)

    @ti.func
    def add(self, x):
        y = x + 1
        if y > 10:
            y = 0
        else:
            pass
        return y


def test_methods_and_odd_ends_are_found(device):
    assert SourceTextCounter().next(4) == 5
    assert SourceTextCounter().next(10) == 0


def ends_with_pass(x):
    if x > 0:
        x += 1
    else:
        pass


def test_what_leaves_no_code_is_part_of_the_text():
    lines, _ = internals.source_lines(ends_with_pass)
    assert meaning(lines) == meaning(inspect.getsourcelines(ends_with_pass)[0])


def test_python_keeps_its_own_functions():
    assert (
        python("import inspect; mine = inspect.getframeinfo\nimport simcli.kernels; print(mine is inspect.getframeinfo)")
        == "True\n"
    )


@pytest.mark.parametrize("room", ["simcli.kernels.device.runtime", "simcli.solvers"])
def test_modules_are_not_searched_at_a_start(room):
    """Taichi looks through all modules of Python at each function that is decorated: a second of every start."""
    code = (
        "import inspect\ncalls, own = [], inspect.getmodule\n"
        "inspect.getmodule = lambda *found: calls.append(found) or own(*found)\n"
        f"import simcli.kernels, {room}; print(len(calls))"
    )
    assert int(python(code)) < 20


def bound_anew(path: Path) -> list[str]:
    """Names of a module that it binds a second time to something that is not made of the first."""
    bound, anew = set(), []
    for node in ast.parse(path.read_text()).body:
        names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        if isinstance(node, ast.Assign):
            used = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            targets = [target for target in node.targets if isinstance(target, ast.Name)]
            names = [target.id for target in targets if target.id not in used]
        anew += [name for name in names if name in bound and name != "_"]
        bound |= set(names)
    return anew


def test_no_module_of_the_tests_binds_a_name_to_two_things():
    """The tests of the first one would read the second, as no linter tells."""
    found = {str(path): anew for path in sorted(Path(__file__).parent.rglob("*.py")) if (anew := bound_anew(path))}
    assert not found
