"""`simcli precompile`: compile the kernels of scenes before they are run."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from json import JSONDecodeError, loads
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, NamedTuple

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag, SetValues, existing_file
from simcli.cli.runs.run_options import Precision, RunDevice, overrides
from simcli.cli.scene_sources import shipped_scenes
from simcli.engines import cores
from simcli.errors import Exit, OutputError

BUNDLE_WORLDS = (1, 8)  # of each bundle: one world is scalar code, several share the registers of a core


class PrecompiledItem(NamedTuple):
    """A scene to compile.

    Attributes:
        name: for people.
        path: of the scene.
        worlds: instead of the scene's, None to leave them.
        bundle: whether it comes with the program, so that what is known of it is kept.
    """

    name: str
    path: Path
    worlds: int | None = None
    bundle: bool = False


def precompile(
    scenes: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SCENE]...",
            show_default=False,
            help="Scene files. Default: a small scene for each kind of kernels; simcli doctor lists them.",
        ),
    ] = None,
    sets: SetValues = [],  # noqa: B006  (Typer copies it)
    worlds: Annotated[int | None, typer.Option("--worlds", metavar="N", min=1, help="Worlds, as of run.")] = None,
    device: RunDevice = "auto",
    precision: Annotated[Precision | None, typer.Option("--precision", help="Instead of the scene's.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", metavar="N", min=1, show_default=False, help="Processes at once. Default: one for each core."
        ),
    ] = None,
    json: JsonFlag = False,
) -> int:
    """Fill the folder of compiled kernels, so that runs of these scenes compile nothing.

    Example: SIMCLI_KERNEL_CACHE=/opt/kernels simcli precompile scenes/*.yaml
    """
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, console.stdout_kept_clean():
        keeper = _keeper()
        items = [PrecompiledItem(str(path), existing_file(path), worlds) for path in scenes or []]
        items = items or list(_bundles(Path(folder), worlds, [device, *([precision.value] if precision else [])]))
        words = [
            "--device",
            device,
            *(["--precision", precision.value] if precision else []),
            *(word for text in sets for word in ("--set", text)),
        ]
        if len(items) == 1 and not items[0].bundle:
            made = overrides({"--precision": ("solver.precision", precision), "--worlds": ("batch.worlds", worlds)})
            rows = [_compile_here(items[0], (*made, *sets), device)]
        else:
            rows = _compile_apart(items, words, jobs or cores(), keeper, json)
    found = {
        "folder": keeper,
        "scenes": rows,
        "compiled": sum(row["compiled"] for row in rows),
        "from_cache": sum(row["from_cache"] for row in rows),
        "wall_s": time.perf_counter() - started,
    }
    if json:
        console.emit("precompile", found)
    else:
        _write(found)
    return max((row["exit_code"] for row in rows), default=Exit.OK)


def _keeper() -> Path:
    """The folder that kernels go to.

    Raises:
        OutputError: there is none that can be written.
    """
    from simcli.kernels.language import kernel_cache

    folder, reason = kernel_cache.keeper()
    if folder is None:
        raise OutputError(f"compiled kernels cannot be kept: {reason}; {kernel_cache.VARIABLE} names another folder")
    return folder


def _bundles(folder: Path, worlds: int | None, more: list[str]) -> Iterator[PrecompiledItem]:
    """The scenes that come with the program, written into a folder; `more` is said of them, beside the number of worlds."""
    for name, text in shipped_scenes("bundles").items():
        path = folder / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        for n in (worlds,) if worlds else BUNDLE_WORLDS:
            yield PrecompiledItem(", ".join([name, console.plural(n, "world"), *more]), path, n, bundle=True)


def _compile_here(item: PrecompiledItem, sets: tuple, device: str) -> dict[str, Any]:
    """Compile a scene in this process."""
    from simcli import pipeline
    from simcli.kernels.language.backend import kernels_noted

    started = time.perf_counter()
    with kernels_noted() as taken:
        pipeline.take_kernels(pipeline.prepare(pipeline.Request(item.path, sets=sets, device=device)))
    kernels = [
        {
            "name": kernel.name,
            "key": kernel.key,
            "origin": kernel.origin,
            "trace_s": kernel.trace,
            "compile_s": kernel.compile,
        }
        for kernel in taken
    ]
    return {
        "scene": item.name,
        "exit_code": int(Exit.OK),
        "compiled": len(taken.compiled),
        "from_cache": len(taken.from_folder),
        "wall_s": time.perf_counter() - started,
        "kernels": kernels,
    }


def _compile_apart(
    items: list[PrecompiledItem], words: list[str], jobs: int, keeper: Path, quiet: bool
) -> list[dict[str, Any]]:
    """Compile scenes in a process each, several at once; one that fails is told and stops nobody."""
    alone = Lock()

    def compile_one(item: PrecompiledItem) -> dict[str, Any]:
        n = ["--worlds", str(item.worlds)] if item.worlds else []
        command = [sys.executable, "-m", "simcli", "precompile", str(item.path), "--json", *n, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            row = loads(done.stdout)["scenes"][0] | {"scene": item.name}
        except (JSONDecodeError, KeyError):
            row = {
                "scene": item.name,
                "exit_code": done.returncode or int(Exit.INTERNAL),
                "compiled": 0,
                "from_cache": 0,
                "wall_s": 0.0,
                "kernels": [],
            }
        if done.stderr:
            console.say(f"{item.name}:\n{done.stderr.rstrip()}")
        if row["exit_code"] == Exit.OK:
            with alone:
                _keep_facts(item, row, keeper)
            if not quiet:
                console.say(_line(row))
        return row

    with ThreadPoolExecutor(max(min(jobs, len(items)), 1)) as pool:
        return list(pool.map(compile_one, items))


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['scene']}: {console.plural(row['compiled'], 'kernel')} compiled, {row['from_cache']} from the cache, "
        f"{row['wall_s']:.3g} s"
    )


def _write(found: dict[str, Any]) -> None:
    rows = [
        (
            row["scene"],
            row["compiled"],
            row["from_cache"],
            round(row["wall_s"], 2),
            round(
                sum(kernel["trace_s"] + kernel["compile_s"] for kernel in row["kernels"] if kernel["origin"] == "compiled"),
                2,
            ),
        )
        for row in found["scenes"]
    ]
    console.data(console.table(rows, ("scene", "compiled", "from cache", "seconds", "of these compiling"), indent=""))
    console.data(f"{console.plural(found['compiled'], 'kernel')} compiled in {found['wall_s']:.3g} s into {found['folder']}")


def _keep_facts(item: PrecompiledItem, row: dict[str, Any], keeper: Path) -> None:
    """Keep beside the kernels which of them a bundle takes, and how long they took to compile, for `simcli doctor`."""
    from simcli.kernels.language import kernel_cache

    if item.bundle:
        seconds = {
            kernel["key"]: kernel["trace_s"] + kernel["compile_s"] if kernel["origin"] == "compiled" else None
            for kernel in row["kernels"]
        }
        kernel_cache.keep_bundle(keeper, item.name, seconds)
