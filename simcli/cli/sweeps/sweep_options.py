"""Options of `simcli sweep run`."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from simcli.cli.options import folder_to_write, output_option
from simcli.cli.runs.run_options import known_device
from simcli.errors import UsageError

WORK, _ALONE = "Who does the work", "What is done"


class Kept(StrEnum):
    """Trajectories that stay."""

    ALL = "all"
    FAILED = "failed"
    NONE = "none"


@dataclass(frozen=True)
class WorkPlace:
    """Where the work is done, as the command line says it.

    Attributes:
        workers: processes, None if it is not said.
        shard: `I/N`.
        cluster: address or file of a scheduler.
        fetch: results over the wire.
        patience: [s], without a scheduler or workers.
        threads: of a chunk.
    """

    workers: int | None
    shard: str | None
    cluster: str | None
    fetch: bool
    patience: float | None
    threads: int | None

    def check(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            UsageError: that is so.
        """
        if self.cluster is not None and not self.cluster.strip():
            raise UsageError("--cluster: names no cluster; give tcp://HOST:PORT or a scheduler file")
        for option in (name for name, given in (("--workers", self.workers), ("--shard", self.shard)) if given):
            if self.cluster:
                raise UsageError(f"--cluster and {option} contradict each other: the cluster does the work")
        for option, given in (("--fetch", self.fetch), ("--patience", self.patience)):
            if given and not self.cluster:
                raise UsageError(f"{option} goes with --cluster")


def _option(panel: str, name: str, metavar: str, words: str, **more: Any) -> Any:
    """An option with a value, in a panel of the help; its default is in the words."""
    return typer.Option(name, metavar=metavar, rich_help_panel=panel, show_default=False, help=words, **more)


SweepOut = Annotated[Path, output_option("Folder of the sweep.", folder_to_write, "DIR", show_default=False)]
Workers = Annotated[int | None, _option(
    WORK, "--workers", "N", "Worker processes of this machine, which share its cores. Default: one per core or chunk.",
    min=1)]
ShardText = Annotated[str | None, _option(
    WORK, "--shard", "I/N", "Run the I-th of N parts, as in a SLURM job array; all parts share the folder.")]
ClusterAddress = Annotated[str | None, _option(
    WORK, "--cluster", "ADDRESS", "Run on a Dask cluster: tcp://HOST:PORT, or its scheduler file.")]
Fetch = Annotated[bool, typer.Option(
    "--fetch", rich_help_panel=WORK, help="Send scenes to the workers and results back: they do not share the folder.")]
Patience = Annotated[str | None, _option(
    WORK, "--patience", "T", "Time to wait for a lost scheduler or lost workers. Default: 1 min.")]
ChunkThreads = Annotated[int | None, _option(
    WORK, "--threads", "N", "CPU threads per chunk. Default: cores divided by workers; 1 on a cluster.", min=1)]
MaxWalltime = Annotated[str | None, _option(
    WORK, "--max-walltime", "T", "Stop within this wall time; exit code 75 if cases are left.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", rich_help_panel=_ALONE, help="Run failed cases again.")]
MostTries = Annotated[int, typer.Option(
    "--tries", metavar="N", min=1, rich_help_panel=_ALONE, help="Attempts for a case whose process ends with an error.")]
SweepDevice = Annotated[str, typer.Option(
    "--device", metavar="DEVICE", callback=known_device, rich_help_panel=_ALONE,
    help="Where to compute. Results of another class of device are other cases.")]
KeptChoice = Annotated[Kept | None, _option(
    _ALONE, "--keep", None, "Trajectories to keep. Default: what the sweep file says, else none.")]
TimeLimit = Annotated[str | None, _option(_ALONE, "--time-limit", "T", "Wall time limit per case.")]
MaxWorlds = Annotated[int | None, _option(
    _ALONE, "--max-worlds", "N", "Most cases per chunk. Default: 30 s to 2 min of work that fit into 1 GiB.", min=1)]
SweepDryRun = Annotated[bool, typer.Option("--dry-run", help="Show cases, bytes and hours; run nothing.")]
EventLines = Annotated[bool, typer.Option("--json", help="Events on stdout, a JSON document per line.")]
