"""What the batch declares of several paths: zips, dimensions of the Sobol sequence, correlations, units, worlds."""

from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.base.nodes import Listing, Node, child, find
from simcli.spec.batches.random_draws import correlation_of, factor, groups, partners
from simcli.spec.batches.world_values import SOBOL, sobol_dimensions
from simcli.spec.faults.checker import Checker
from simcli.spec.schema.batch import VarySpec
from simcli.spec.values import sobol
from simcli.spec.values.scopes import same_kind, written_dimension


def check_together(check: Checker) -> None:
    """What paths declare of each other: zips of one length, dimensions of their own, correlations that can be."""
    batch = check.spec.batch
    zips = {path: vary.zip for path, vary in batch.vary.items() if vary.kind == "zip"}
    first = next(iter(zips), "")
    for path, entries in zips.items():
        if len(entries) != len(zips[first]):
            message = f"{len(entries)} entries of `zip`, but `{first}` has {len(zips[first])}"
            hint = "all zips have as many; a `grid` has its own number"
            check.fault("SC322", message, ["batch", "vary", path, "zip"], hint)
    taken: dict[int, str] = {}
    for path, dimension in sobol_dimensions(batch).items():
        at = ["batch", "vary", path]
        other = taken.setdefault(dimension, path)
        if dimension >= sobol.MAX_DIMENSIONS:
            check.fault(
                "SC317",
                f"{dimension + 1} paths with {' or '.join(SOBOL)}",
                at,
                f"at most {sobol.MAX_DIMENSIONS}",
                on_key=True,
            )
        elif other != path:
            message = f"`{path}` has dimension {dimension} of the Sobol sequence, as `{other}` has"
            check.fault("SC322", message, at, "write another `dimension`", on_key=True)
    _check_correlations(check)


def _check_correlations(check: Checker) -> None:
    normals = {path: vary for path, vary in check.spec.batch.vary.items() if vary.kind == "normal"}
    is_sound = True
    for path, vary in normals.items():
        for other in partners(vary):
            key = "correlation" if other in (vary.correlation or {}) else "covariance"
            reason, hint = _no_partner(normals, path, other)
            if reason:
                is_sound = False
                check.fault("SC322", reason, ["batch", "vary", path, key, other], hint, on_key=True)
    for paths in groups(normals) if is_sound else ():
        if factor(normals, paths) is None:
            at = next(
                [path, "correlation" if normals[path].correlation else "covariance"]
                for path in paths
                if any(partners(normals[path]))
            )
            names = ", ".join(f"`{path}`" for path in paths[:4]) + (", .." if len(paths) > 4 else "")
            message = f"no normal distribution has these correlations of {names}: their matrix has a negative eigenvalue"
            check.fault("SC322", message, ["batch", "vary", *at], "lower them, or write those that are missing")


def _no_partner(normals: dict[str, VarySpec], path: str, other: str) -> tuple[str, str]:
    """Why a path cannot be correlated with another, and what to do; "" if it can."""
    if other == path:
        return f"`{path}` is correlated with itself", "name another path"
    if other not in normals:
        return f"`{other}` has no normal distribution under `vary`", did_you_mean(other, [p for p in normals if p != path])
    if normals[other].low is not None or normals[other].high is not None:
        return f"`{other}` has bounds, and cut distributions are not correlated", "leave out its bounds"
    if path in partners(normals[other]) and path > other:
        return f"`{path}` and `{other}` say their correlation twice", "keep one of them"
    value = correlation_of(normals, path, other)
    if not -1.0 <= value <= 1.0:
        most = normals[path].normal[1] * normals[other].normal[1]
        return f"the covariance with `{other}` is larger than the product of the deviations, {most:g}", "write less"
    return "", ""


def check_units(check: Checker, path: str, vary: VarySpec, at: list) -> None:
    """A deviation has the dimension of its mean, bounds too; a covariance that of the product; a parameter has one."""
    _check_entries(check, path, vary, at)
    node = find(check.tree, [*at, vary.kind])
    mean = written_dimension(child(node, 0)) if vary.kind == "normal" else None
    if mean is None:
        return
    written: list[tuple[list, Node | None]] = [
        ([*at, "normal", 1], child(node, 1)),
        *(([*at, key], find(check.tree, [*at, key])) for key in ("low", "high")),
    ]
    for place, one in written:
        given = written_dimension(one)
        if given is not None and given != mean:
            message = f"a unit of another kind than that of the mean of `{path}`"
            check.fault("SC213", message, place, "write one unit for all")
    for other in vary.covariance or ():
        theirs = written_dimension(find(check.tree, ["batch", "vary", other, "normal", 0]))
        given = written_dimension(find(check.tree, [*at, "covariance", other]))
        if given and theirs and given != tuple(a + b for a, b in zip(mean, theirs, strict=True)):
            message = f"a covariance of `{path}` and `{other}` is in the product of their units"
            check.fault("SC213", message, [*at, "covariance", other], "as `2 N*m` of a force and a length")


def _check_entries(check: Checker, path: str, vary: VarySpec, at: list) -> None:
    """The entries of a parameter are of one kind; those of other paths fit what they lead to."""
    node = find(check.tree, [*at, vary.kind])
    if not path.startswith("params.") or vary.kind == "normal" or not isinstance(node, Listing):
        return
    first = next((one for one in node.items if written_dimension(one) is not None), None)
    for index, one in enumerate(node.items):
        if not same_kind(first, one):
            message = f"`{one.value}` is of another kind than `{first.value}`, which `{path}` is varied by too"
            check.fault("SC213", message, [*at, vary.kind, index], "write units of one kind")
            return


def fits_worlds(check: Checker, vary: VarySpec, at: list) -> bool:
    """Whether there are as many entries as worlds; a fault if not."""
    n = check.spec.batch.n_draws
    if vary.kind == "list" and len(vary.list) != n:
        message = f"{len(vary.list)} entries for {n} worlds"
        check.fault("SC205", message, [*at, "list"], f"write {n} entries, or use `grid`")
        return False
    if vary.kind == "from" and len(vary.from_.column.values) < n:
        message = f"{len(vary.from_.column.values)} worlds of `{vary.from_.file}` for {n} worlds"
        check.fault("SC205", message, [*at, "from"], "write fewer `worlds`")
        return False
    if vary.kind == "from" and len(vary.from_.column.values) > n:
        message = f"of {len(vary.from_.column.values)} worlds of `{vary.from_.file}` the first {n} are taken"
        check.fault("SC323", message, [*at, "from"], "leave out `worlds` to take all", severity="warning")
    return True


def check_table_size(check: Checker) -> None:
    """No more worlds than rows; fewer take the first ones."""
    batch = check.spec.batch
    if batch.table is None or not batch.table.read.n_rows or batch.n_draws == batch.table.read.n_rows:
        return
    n_rows, n = batch.table.read.n_rows, batch.n_draws
    where = ["batch", "worlds"] if check.has("batch.worlds") else ["batch", "table", "file"]
    if n > n_rows:
        check.fault("SC205", f"{n} worlds, but `{batch.table.file}` has {n_rows} rows", where, f"at most {n_rows}")
    else:
        message = f"of {n_rows} rows of `{batch.table.file}` the first {n} are run"
        check.fault("SC323", message, where, "leave out `worlds` to run all", severity="warning")
