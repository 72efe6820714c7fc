"""A scene at many points as one batch of worlds: run into a file of a temporary folder, looked at, and removed.

Points that make no valid scene, as a negative mass, are left out of the batch and told; the others run.
"""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.errors import SceneError, SimcliError, UsageError
from simcli.job import Job, Request, Watch, keep_going
from simcli.search.intervals import QUIET
from simcli.spec.document.overrides import SET, VARY, Override

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory
    from simcli.spec import SceneSpec


class SearchStoppedError(SimcliError):
    """Who watches a search asked it to stop."""


@dataclass
class Batches:
    """Runs batches of one scene.

    Attributes:
        scene: file.
        sets: overrides of it.
        paths: of the numbers that differ between worlds, P of them.
        device: as of a run.
        threads: likewise.
        watch: sees every Tick.
        n_batches: run so far.
        n_worlds: run so far.
    """

    scene: Path
    sets: Sequence[str | Override]
    paths: Sequence[str]
    device: str = "auto"
    threads: int | None = None
    watch: Watch = keep_going
    n_batches: int = field(default=0, init=False)
    n_worlds: int = field(default=0, init=False)

    def request(self, points: np.ndarray, output: Path | None = None) -> Request:
        """The request of points, (N, P): each path has a list with one value per world."""
        lists = [
            Override(VARY, f"{path}={{list: [{', '.join(map(repr, column))}]}}")
            for path, column in zip(self.paths, np.asarray(points, float).T.tolist(), strict=True)
        ]
        worlds = Override("--worlds", str(len(points)), "batch.worlds")
        return Request(self.scene, output, (*self.sets, *QUIET, *lists, worlds), self.device, self.threads)

    def prepare(self, points: np.ndarray, output: Path | None = None) -> Job:
        """Read and build the batch of points.

        Raises:
            SceneError: a point makes no valid scene; messages have its values.
        """
        from simcli import pipeline

        return pipeline.prepare(self.request(points, output))

    def prepare_scene(self) -> Job:
        """Read and build the scene as it stands, as one world.

        Raises:
            SceneError: it is invalid.
        """
        from simcli import pipeline

        return pipeline.prepare(Request(self.scene, None, (*self.sets, *QUIET), self.device, self.threads))

    @contextlib.contextmanager
    def run(self, points: np.ndarray) -> "Iterator[tuple[Trajectory, np.ndarray]]":
        """Run a batch.

        Args:
            points: (N, P), in SI.

        Yields:
            The file of its worlds, and the places of these among the points.

        Raises:
            SceneError: no point makes a valid scene.
            SearchStoppedError: the watcher has seen enough.
        """
        from simcli import pipeline
        from simcli.records.reading.reader import open_trajectory

        with tempfile.TemporaryDirectory(prefix="simcli-search-") as folder:
            job, places = self._valid(points, Path(folder) / "batch.h5")
            outcome = pipeline.execute(job, self.watch)
            if outcome.status == "stopped":
                raise SearchStoppedError("stopped")
            self.n_batches, self.n_worlds = self.n_batches + 1, self.n_worlds + len(places)
            with open_trajectory(job.output) as run:
                yield run, places

    def _valid(self, points: np.ndarray, output: Path) -> tuple[Job, np.ndarray]:
        """The job of those points that make a valid scene."""
        try:
            return self.prepare(points, output), np.arange(len(points))
        except SceneError:
            places = [k for k in range(len(points)) if self.is_valid(points[k])]
            if not places:
                raise
            return self.prepare(points[places], output), np.array(places)

    def is_valid(self, point: np.ndarray) -> bool:
        """Whether a point, (P,), makes a valid scene."""
        try:
            self.prepare(point[None])
        except SceneError:
            return False
        return True


def write_scene(scene: Path, sets: Sequence[str | Override], output: Path, force: bool) -> None:
    """Write a scene with overrides laid on it, without templates and expressions.

    Raises:
        OutputError: it exists, or cannot be written.
        UsageError: the scene is read from it, or the scene names files, which would not be found from there.
        SceneError: the scene does not hold with the overrides.
    """
    from simcli.records.drafts import written
    from simcli.spec import resolved_yaml

    with written(output) as stream:
        stream.write(resolved_yaml(claim_scene(scene, sets, output, force)))


def claim_scene(scene: Path, sets: Sequence[str | Override], output: Path, force: bool) -> "SceneSpec":
    """Refuse a place for a scene before anything is computed; else as `write_scene`. Returns the scene."""
    from simcli.pipeline import read_scene
    from simcli.records.drafts import claim_path
    from simcli.spec.batches.sample_files import named_files

    if output.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"-o {output}: write a name that ends in .yaml")
    document, spec = read_scene(scene, sets)
    claim_path(output, force, document.inputs)
    files = [name for _, name in named_files(spec)]
    if files and output.resolve().parent != scene.resolve().parent:
        raise UsageError(f"-o {output}: the scene names files beside it, as {files[0]}: write into its folder")
    return spec


def set_texts(paths: Sequence[str], values: Iterable[float]) -> list[str]:
    """`KEY=VALUE` of each path, to the last bit."""
    return [f"{path}={float(value)!r}" for path, value in zip(paths, values, strict=True)]


def measures_alone(batches: Batches) -> Batches:
    """Batches whose files hold measures, and nothing over time."""
    silent = (Override(SET, "[]", "output.channels"), Override(SET, "[]", "output.quantities"))
    return replace(batches, sets=(*batches.sets, *silent))
