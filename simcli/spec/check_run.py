"""Times and the batch."""

from simcli.errors import SceneError
from simcli.spec import sobol
from simcli.spec.checker import Checker
from simcli.spec.lookup import value_at
from simcli.spec.nodes import Listing, Scalar, child, find, parse_path, plain
from simcli.spec.paths import exists, nowhere
from simcli.spec.schema_parts import VarySpec

LOOK = "how the scene is drawn"
_MULTIPLE = 1e-9  # relative distance to a whole multiple that is rounding in the file
MAX_STEPS = 10**12
MAX_WORLDS = 2**24
# What the batch must not change, and why.
_FIXED = {
    "simcli": "the format version", "name": "a name", "description": "a text", "resolved": "the format",
    "include": "the files",
    "solver": "the solver and its step", "run": "the duration", "output": "the output", "batch": "the batch",
    "expect": "the expectations", "look": LOOK, "articulations": "the structure", "events": "the events",
    "allow_orphan_joints": "the structure", "defaults": "the defaults",
}  # fmt: skip


def check_times(check: Checker) -> None:
    """`duration` and `every` are whole multiples of dt."""
    dt = check.spec.solver.dt
    for path, value in (("run.duration", check.spec.run.duration), ("output.every", check.spec.output.every)):
        if value is None or ("solver", "") in check.broken or (path.split(".")[0], "") in check.broken:
            continue
        steps = value / dt
        if steps > MAX_STEPS:
            check.fault("SC418", f"`{path}` takes {steps:.3g} steps of {dt:g} s", path, "shorten it, or enlarge solver.dt")
        elif round(steps) < 1 or abs(steps - round(steps)) > _MULTIPLE * max(1.0, steps):
            nearest = max(1, round(steps)) * dt
            message = f"`{path}` of {value:.12g} s is not a whole multiple of dt = {dt:.12g} s"
            check.fault("SC407", message, path if check.has(path) else "solver.dt", f"the nearest is {nearest:.12g}")


def check_batch(check: Checker) -> None:
    """Every varied path leads to a number that may differ between worlds."""
    batch = check.spec.batch
    if check.n_worlds > MAX_WORLDS:
        check.fault("SC418", f"{check.n_worlds} worlds", "batch.vary", f"the limit is {MAX_WORLDS}", on_key=True)
        return
    soboled = [path for path, vary in batch.vary.items() if vary.sobol is not None]
    for path, vary in batch.vary.items():
        at = ["batch", "vary", path]
        steps = parse_path(path)
        if len(soboled) > sobol.MAX_DIMENSIONS and path == soboled[-1]:
            check.fault("SC317", f"{len(soboled)} paths with sobol", at, f"at most {sobol.MAX_DIMENSIONS}", on_key=True)
        if steps is None or not exists(check, steps):
            nowhere(check, path, at)
            continue
        reason = _refusal(check, steps)
        if reason:
            check.fault(
                "SC317",
                f"`{path}` cannot differ between worlds: it is {reason}",
                at,
                "vary a number of the physics",
                on_key=True,
            )
            continue
        if vary.list is not None and len(vary.list) != batch.worlds:
            message = f"{len(vary.list)} entries for {batch.worlds} worlds"
            check.fault("SC205", message, [*at, "list"], f"write {batch.worlds} entries, or use `grid`")
        _entries(check, path, steps, vary, at)


def _refusal(check: Checker, steps: tuple) -> str:
    """Why a path cannot vary; "" if it can."""
    head = str(steps[0])
    if head in _FIXED:
        return _FIXED[head]
    if steps[:2] == ("world", "look") or (head == "bodies" and steps[2:3] == ("look",)):
        return LOOK
    if head == "signals" and steps[2:4] == ("table", "time"):
        return "a time of a table, which all worlds share"
    if (head == "contact" and steps[1:2] == ("capacity",)) or steps[-1] in ("count", "component", "world"):
        return "a count"
    node = find(check.tree, steps) or find(check.document.root, steps)
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(node, Listing):
        flat = all(isinstance(item, Scalar) and _is_number(item.value) for item in node.items)
        return "" if flat and node.items else "a list of other things than numbers"
    if node is None:
        value = value_at(check.spec, steps)
        if value is None or (isinstance(value, tuple) and value and all(_is_number(entry) for entry in value)):
            return ""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str) and not value.strip()[:1].isdigit() and value.strip()[:1] not in "+-.$":
        return "a text"
    if isinstance(value, str) and value.startswith("$") and "${" not in value:
        return "a signal"
    return "" if _is_number(value) or isinstance(value, str) else "no number"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _entries(check: Checker, path: str, steps: tuple, vary: VarySpec, at: list) -> None:
    """Try the extreme values: each must give a valid scene."""
    from simcli.spec.expansion import BEFORE_EXPANSION
    from simcli.spec.resolve import resolve

    kind = next(name for name in type(vary).model_fields if getattr(vary, name) is not None)
    value = getattr(vary, kind)
    node = find(check.tree, ["batch", "vary", path, kind])
    trials = list(range(len(value)))[:8] if kind != "normal" else [0]
    changes = steps[0] not in BEFORE_EXPANSION
    for index in trials:
        entry = child(node, index)
        trial = plain(entry) if entry is not None else value[index]
        try:
            other = resolve(check.document, {path: trial})
        except SceneError as error:
            first = error.faults[0]
            check.fault(first.code, f"with {path} = {_spell(trial)}: {first.message}", [*at, kind, index], first.hint)
            return
        if (other.solver, other.run, other.output) != (check.spec.solver, check.spec.run, check.spec.output):
            check.fault("SC317", f"`{path}` changes the solver, the run or the output", at, "", on_key=True)
            return
        if list(other.bodies) != list(check.spec.bodies) or list(other.joints) != list(check.spec.joints):
            check.fault("SC317", f"`{path}` cannot differ between worlds: it changes a count", at, "", on_key=True)
            return
        changes = changes or other.model_copy(update={"params": check.spec.params}) != check.spec
    if not changes and any(value[index] != value[0] for index in trials) and not _is_named(check, steps):
        check.fault("SC317", f"`{path}` changes nothing", at, "no expression uses it", on_key=True)


def _is_named(check: Checker, steps: tuple) -> bool:
    """Whether some expression depends on a parameter, though it may change nothing at the values of the others."""
    from simcli.spec.worlds import dependent_leaves

    root = check.document.root
    return steps[0] == "params" and len(steps) == 2 and dependent_leaves(root, root.get("params"), {steps[1]}) != {}


def _spell(value: object) -> str:
    return f"{value:g}" if _is_number(value) else str(value)[:40]
