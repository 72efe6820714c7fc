"""A sweep as a call: `simcli.sweep`."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.arguments import (
    by_name,
    flag_given,
    function_given,
    number_given,
    path_given,
    text_given,
    texts_of,
    whole_number,
)
from simcli.engines import cores
from simcli.errors import Exit, SimcliError, UsageError
from simcli.spec.document.overrides import ADDED_MEASURE, VARY, VARY_TABLE, Override
from simcli.spec.document.resolved_yaml import flow_text
from simcli.sweeps.case_table import table_of
from simcli.sweeps.driver import drive_sweep
from simcli.sweeps.executors.contract import Work
from simcli.sweeps.executors.pool import Pool
from simcli.sweeps.records.plan import plan_of
from simcli.sweeps.records.state import LedgerReader
from simcli.sweeps.status import Options, SweepProgress, watch_nothing

if TYPE_CHECKING:
    from simcli.analysis.worlds.world_table import WorldTable


MOST_WORKERS = 4096  # processes; more than a machine has cores


class SweepStoppedError(SimcliError):
    """A sweep has ended before all of its cases were done; the same call goes on."""

    exit_code = Exit.STOPPED


def sweep_now(
    path: Path,
    folder: Path,
    *,
    vary: Mapping[str, object],
    choices: Mapping[str, object],
    measure: Mapping[str, object],
    numbers: Mapping[str, object],
    table: str | os.PathLike | None,
    sets: Sequence[str],
    workers: int,
    device: str,
    keep: str | None,
    time_limit: float | None,
    max_worlds: int | None,
    retry_failed: bool,
    watch: Callable[[SweepProgress], bool] | None,
) -> "WorldTable":
    """Run what is left of a sweep, and give its table. Arguments and errors: see `simcli.sweep`."""
    workers = whole_number("workers", workers, 1, MOST_WORKERS)
    options = Options(retry_failed=flag_given("retry_failed", retry_failed))
    watch = watch_nothing if watch is None else function_given("watch", watch)
    laid = (*_laid_over(vary, measure, numbers, table), *texts_of("sets", sets))
    plan = plan_of(
        path,
        laid,
        device=text_given("device", device, "cpu"),
        keep=None if keep is None else text_given("keep", keep, "failed"),
        time_limit=None if time_limit is None else number_given("time_limit", time_limit),
        max_worlds=None if max_worlds is None else whole_number("max_worlds", max_worlds, 1),
        choices=_plainly("choices", choices),
    )
    work = Work(folder, plan.keep, plan.time_limit, plan.device, max(cores() // workers, 1))
    summary = drive_sweep(plan, folder, Pool(workers, work), options, watch)
    if summary.status != "done":
        left = summary.n_cases - summary.n_done
        raise SweepStoppedError(
            f"{folder}: {left} of {summary.n_cases} cases are left; the same call goes on"
            f"{f': {summary.problem}' if summary.problem else ''}"
        )
    state = LedgerReader(folder).read()
    state.forget_gone(folder)
    return table_of(plan, folder, {case: one.file for case, one in state.results.items()}, state.given_up())


def _laid_over(vary: object, measure: object, numbers: Mapping[str, object], table: object) -> list[Override]:
    """What the arguments lay over the scene.

    Raises:
        UsageError: one of them is of another kind.
    """
    laid = [
        Override(f"--{name}", str(whole_number(name, value, 0)), f"batch.{name}")
        for name, value in numbers.items()
        if value is not None
    ]
    laid += [] if table is None else [Override(VARY_TABLE, str(path_given("table", table, "samples.csv")))]
    laid += [Override(VARY, f"{key}={flow_text(_variation(value))}") for key, value in _plainly("vary", vary).items()]
    return [
        *laid,
        *(
            Override(ADDED_MEASURE, flow_text(value), f"measure.{name}")
            for name, value in _plainly("measure", measure).items()
        ),
    ]


def _plainly(what: str, given: object) -> dict[str, object]:
    """What a program gives by names, as plain numbers, texts, lists and dicts, as a scene has them; None for nothing.

    Raises:
        UsageError: something else is among them.
    """
    return {} if given is None else {name: _plain(f"{what} `{name}`", one) for name, one in by_name(what, given).items()}


def _plain(what: str, value: object) -> object:
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return text_given(what, value, "$u")
    if isinstance(value, Mapping):
        return {key: _plain(what, one) for key, one in by_name(what, value).items()}
    if isinstance(value, list | tuple | range):
        return [_plain(what, one) for one in value]
    raise UsageError(f"{what}: {value!r} is no number, text, list or dict, which is what a scene can hold")


def _variation(value: object) -> object:
    """A list of values is a grid; everything else stands as in a scene."""
    return {"grid": value} if isinstance(value, list) else value
