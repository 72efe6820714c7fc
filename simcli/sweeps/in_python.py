"""A sweep as a call: `simcli.sweep`."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.errors import Exit, SimcliError, UsageError
from simcli.spec.document.overrides import SWEEP, VARY, VARY_TABLE, Override
from simcli.spec.resolved import flow_text
from simcli.sweeps.book.state import LedgerReader
from simcli.sweeps.driver import drive_sweep
from simcli.sweeps.executors.contract import Work
from simcli.sweeps.executors.pool import Pool, cores
from simcli.sweeps.planning.plan import plan_of
from simcli.sweeps.standing import Options, Standing, watch_nothing
from simcli.sweeps.table import table_of

if TYPE_CHECKING:
    from simcli.analysis.worlds.world_table import WorldTable


class SweepStoppedError(SimcliError):
    """A sweep has ended before all of its cases were done; the same call goes on."""

    exit_code = Exit.STOPPED


def sweep_now(path: Path, folder: Path, *, vary: Mapping[str, object], choices: Mapping[str, object],
              measure: Mapping[str, object], numbers: Mapping[str, object], table: str | os.PathLike | None,
              sets: Sequence[str], workers: int, device: str,
              keep: str | None, time_limit: float | None, max_worlds: int | None, retry_failed: bool,
              watch: Callable[[Standing], bool] | None) -> "WorldTable":  # fmt: skip
    """Run what is left of a sweep, and give its table. Arguments and errors: see `simcli.sweep`."""
    if workers < 1:
        raise UsageError(f"workers={workers}: at least 1")
    laid = [Override(SWEEP, str(value), f"batch.{name}") for name, value in numbers.items() if value is not None]
    laid += [] if table is None else [Override(VARY_TABLE, os.fspath(table))]
    laid += [Override(VARY, f"{key}={flow_text(_variation(value))}") for key, value in vary.items()]
    laid += [Override(SWEEP, flow_text(value), f"measure.{name}") for name, value in measure.items()]
    plan = plan_of(path, (*laid, *sets), device=device, keep=keep, time_limit=time_limit, max_worlds=max_worlds,
                   choices=dict(choices))  # fmt: skip
    work = Work(folder, plan.keep, plan.time_limit, plan.device, max(cores() // workers, 1))
    summary = drive_sweep(plan, folder, Pool(workers, work), Options(retry_failed=retry_failed), watch or watch_nothing)
    if summary.status != "done":
        left = summary.n_cases - summary.n_done
        raise SweepStoppedError(f"{folder}: {left} of {summary.n_cases} cases are left; the same call goes on"
                                f"{f': {summary.problem}' if summary.problem else ''}")  # fmt: skip
    state = LedgerReader(folder).read()
    return table_of(plan, folder, {case: one.file for case, one in state.results.items()}, state.given_up())


def _variation(value: object) -> object:
    """A list of values is a grid; everything else stands as in a scene."""
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    return {"grid": list(value)} if isinstance(value, list | tuple | range) else value
