"""`simcli doctor`: does this installation work, and what can it use?"""

import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from simcli.cli import console
from simcli.cli.options import JsonFlag
from simcli.engines import ENGINE_VARIABLE, KERNEL_ENGINES, SUPPORT, engine_of_process, installed
from simcli.errors import Exit, SimcliError

NEEDED = ("numpy", "h5py", "pyyaml", "pydantic", "typer", "rich")
OPTIONAL = {
    "matplotlib": "plot",
    "plotext": "plot --terminal",
    "pillow": "render",
    "av": "render of MP4",
    "pyarrow": "Parquet",
    "scipy": "fit",
    "cma": "optimize",
    "distributed": "sweep run --cluster",
    "mujoco": "import of MJCF",
    "coacd": "decompose",
    "trimesh": "import of glTF meshes",
    "pycollada": "import of COLLADA meshes",
    "usd-core": "import and export of USD",
    "sphinx": "docs --html",
    "myst-parser": "docs --html",
    "pin": "the tests",
}
_ENGINE = "engine"  # name of a line
OLDEST, NEWEST = (3, 11), (3, 14)
_NOT_HERE = "not on this machine"
GPU_SECONDS = 120.0  # [s], for a GPU to start: its driver may compile for a while
SELF_RUN_DURATION = "0.1"  # [s], simulated: enough for a frame, a compile and a file


@dataclass
class Line:
    """One thing looked at.

    Attributes:
        name: what.
        state: ok, missing (an extra that is not there), bad, or read (a system whose code has been read, but not run).
        text: what was found.
    """

    name: str
    state: str
    text: str


def doctor(json: JsonFlag = False) -> int:
    """Look at Python, packages, devices and caches, and run a small scene.

    Exit code 1 if something that simcli needs does not work.
    """
    with console.stdout_kept_clean():
        lines = [_python(), *_systems(), _engine(), *_packages()]
        if not any(line.state == "bad" and line.name == _ENGINE for line in lines):  # without one nothing more can be tried
            lines += [*_devices(), *_cache(), *_bundles(), _self_run()]
        bad = [line for line in lines if line.state == "bad"]
        if json:
            console.emit("doctor", {"ok": not bad, "lines": [asdict(line) for line in lines]})
        else:
            _write(lines)
    return Exit.NEGATIVE if bad else Exit.OK


def _write(lines: list[Line]) -> None:
    console.data(console.table([(line.state, line.name, line.text) for line in lines], indent=""))


def _python() -> Line:
    version = sys.version_info[:2]
    text = f"{sys.version.split()[0]} at {sys.executable}"
    if OLDEST <= version <= NEWEST:
        return Line("python", "ok", text)
    return Line("python", "bad", f"{text}: simcli needs 3.11 to 3.14 (its engines have no wheels for others)")


def _systems() -> list[Line]:
    """What simcli runs on."""
    return [
        Line(
            "system",
            "ok" if each.is_tested else "read",
            f"{each.system}, Python {each.pythons}: {KERNEL_ENGINES[each.package].title}"
            f" ({'tested' if each.is_tested else 'only read'})",
        )
        for each in SUPPORT
    ]


def _engine() -> Line:
    """What compiles kernels."""
    try:
        found = engine_of_process()
        text = f"{found.title} {found.version}"
    except (SimcliError, ImportError) as error:
        return Line(_ENGINE, "bad", str(error))
    others = [each.title for each in installed() if each is not found]
    choice = f" ({ENGINE_VARIABLE} chooses {others[0]}, which is installed, too)" if others else ""
    return Line(_ENGINE, "ok", text + choice)


def _packages() -> list[Line]:
    from importlib.metadata import PackageNotFoundError, version

    without = {name: Line(name, "bad", f"not installed: pip install {name}") for name in NEEDED}
    for name, purpose in OPTIONAL.items():
        without[name] = Line(name, "missing", f"optional, for {purpose}: pip install {name}")
    lines = []
    for name, missing in without.items():
        try:
            lines.append(Line(name, "ok", version(name)))
        except PackageNotFoundError:
            lines.append(missing)
    return lines


def _devices() -> list[Line]:
    """Each device with the precisions it offers; a GPU is started, which computes known numbers, in a process of its own."""
    try:
        from simcli.kernels.device.cuda import device_name
        from simcli.kernels.device.runtime import ARCHS, choose_arch
    except Exception as error:
        return [Line("device", "bad", f"{engine_of_process().title} does not start: {error}")]
    lines = []
    for name in ARCHS:
        reasons = {precision: _reason_against(choose_arch, name, precision) for precision in ("float64", "float32")}
        offered = [precision for precision, reason in reasons.items() if not reason]
        if offered:
            lines.append(Line(f"device {name}", "ok", f"{device_name(name)} ({', '.join(offered)})"))
        else:
            lines.append(Line(f"device {name}", "missing", reasons["float32"]))
    return lines


def _reason_against(choose_arch, device: str, precision: str) -> str:
    """Why a device cannot be used in a precision, "" if it can."""
    try:
        if choose_arch(device, precision) != device:
            return _NOT_HERE
    except SimcliError:
        return _NOT_HERE
    if device == "cpu":
        return ""
    code = f"from simcli.kernels.device.runtime import start_device; start_device({device!r}, {precision!r})"
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GPU_SECONDS)
    except subprocess.TimeoutExpired:
        return f"did not start within {GPU_SECONDS:.0f} s"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]


def _cache() -> list[Line]:
    """The folders where compiled kernels stay between runs."""
    from simcli.kernels.language import kernel_cache

    lines, (keeper, reason) = [], kernel_cache.keeper()
    for folder in kernel_cache.folders():
        n_kernels, size = len(kernel_cache.kernels_below(folder)), kernel_cache.bytes_below(folder)
        why = "" if folder == keeper else kernel_cache.trouble(folder)
        state = "new kernels are kept here" if folder == keeper else f"read only: {why}" if why else "is read, too"
        lines.append(
            Line(
                "kernel cache",
                "ok",
                f"{folder} ({console.plural(n_kernels, 'kernel')} for this processor, "
                f"{console.size_text(size)} in all; {state})",
            )
        )
    if keeper is None:
        lines.append(Line("kernel cache", "bad", f"{reason}: what is not there is compiled by every run"))
    return lines


def _bundles() -> list[Line]:
    """The scenes of `simcli precompile`: whether their kernels are there, and how long these took to compile."""
    from simcli.cli.scene_sources import first_line, shipped_scenes
    from simcli.kernels.language import kernel_cache

    lines, folders = [], kernel_cache.folders()
    facts = {name: keys for folder in reversed(folders) for name, keys in kernel_cache.bundles_below(folder).items()}
    there = {key for folder in folders for key in kernel_cache.kernels_below(folder)}
    for name, text in shipped_scenes("bundles").items():
        known = {other.partition(", ")[2]: keys for other, keys in facts.items() if other.partition(", ")[0] == name}
        parts = [_bundle_text(worlds, keys, there) for worlds, keys in sorted(known.items())]
        ready = bool(known) and all(keys.keys() <= there for keys in known.values())
        lines.append(
            Line(
                f"kernels {name}",
                "ok" if ready else "missing",
                f"{first_line(text)} {'; '.join(parts) or 'Not compiled: simcli precompile.'}",
            )
        )
    return lines


def _bundle_text(worlds: str, seconds: dict[str, float | None], there: set[str]) -> str:
    """What is known of the kernels of a bundle."""
    n_lost = len(seconds.keys() - there)
    known = [one for one in seconds.values() if one is not None]
    took = f", compiled in {console.duration_text(sum(known))}" if len(known) == len(seconds) else ""
    return f"{worlds}: {console.plural(len(seconds), 'kernel')}{took}{f', {n_lost} of them gone' if n_lost else ''}"


def _self_run() -> Line:
    """Run the pendulum template for a moment, on the CPU, into a temporary folder."""
    from importlib.resources import files

    from simcli import pipeline

    text = files("simcli").joinpath("docs", "templates", "pendulum.yaml").read_text(encoding="utf-8")
    try:
        with tempfile.TemporaryDirectory() as folder:
            scene = Path(folder) / "pendulum.yaml"
            scene.write_text(text, encoding="utf-8")
            sets = (f"run.duration={SELF_RUN_DURATION}",)
            request = pipeline.Request(scene, Path(folder) / "out.h5", sets, device="cpu")
            outcome = pipeline.execute(pipeline.prepare(request))
    except Exception as error:  # whatever it is, saying so is the doctor's job
        return Line("self-run", "bad", f"{type(error).__name__}: {error}")
    healthy = outcome.status == "done" and not outcome.failures and all(v.passed for v in outcome.verdicts)
    text = f"{outcome.n_steps} steps of a pendulum, compiling {outcome.compile:.2f} s, whole run {outcome.wall:.2f} s"
    return Line("self-run", "ok" if healthy else "bad", text)
