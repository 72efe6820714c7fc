"""Whether a folder is that of a sweep, and what of it can be believed."""

import warnings
from pathlib import Path

from simcli.errors import OutputError, SimcliWarning, plural
from simcli.sweeps.planning.plan import Plan
from simcli.sweeps.planning.plan_file import NAME as PLAN
from simcli.sweeps.records.state import LedgerReader, SweepState


def check_folder(plan: Plan, folder: Path, reader: LedgerReader) -> None:
    """Refuse the folder of another sweep; take results for missing whose files are gone.

    Raises:
        OutputError: it is the folder of another sweep, or none.
    """
    _refuse_another(plan, folder, reader.state)
    _forget_what_is_gone(folder, reader.state)
    _warn_of_ledger(plan, folder, reader.state)


def _refuse_another(plan: Plan, folder: Path, state: SweepState) -> None:
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file; give the folder of the sweep, or a new name")
    if state.damaged and not state.planned and not (folder / PLAN).exists():
        raise OutputError(f"{folder}: holds a ledger, but no sweep, as of `simcli optimize`: choose another folder with -o")
    known = state.results.keys() | state.tries.keys()
    if known and not any(case.id in known for case in plan.cases):
        last = state.planned[-1] if state.planned else {}
        raise OutputError(
            f"{folder}: holds another sweep: none of its {len(known)} cases is one of the {len(plan.cases)} of this one "
            f"({last.get('origin', 'of unknown origin')}). Another scene, seed, precision, device or version of simcli "
            "makes other cases: choose another folder with -o")


def _forget_what_is_gone(folder: Path, state: SweepState) -> None:
    """Results without files are run again."""
    lost = state.forget_gone(folder)
    if lost:
        warnings.warn(f"{folder}: results are gone that the ledger knows, as {min(lost.values())}; "
                      f"{plural(len(lost), 'case')} will be run again", SimcliWarning, stacklevel=3)


def _warn_of_ledger(plan: Plan, folder: Path, state: SweepState) -> None:
    """Say what of a ledger is of another `keep`, foreign or damaged."""
    kept = {str(line["keep"]) for line in state.planned if "keep" in line} - {plan.keep}
    if kept and state.results:
        warnings.warn(f"{folder}: was begun with keep: {', '.join(sorted(kept))}; cases that are done have the trajectories "
                      f"that they have, and keep: {plan.keep} is for the others", SimcliWarning, stacklevel=3)
    for name in state.foreign:
        warnings.warn(f"{folder}: ledger/{name} is no ledger; left alone", SimcliWarning, stacklevel=3)
    if damaged := sum(state.damaged.values()):
        warnings.warn(f"{folder}: {plural(damaged, 'line')} of the ledger cannot be believed, because of damage, as in "
                      f"ledger/{min(state.damaged)}; what was said there is run again", SimcliWarning, stacklevel=3)
