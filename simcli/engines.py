"""The engine that compiles device code, Taichi or Quadrants, which has grown out of it; the systems that each is for; cores.

A process uses one engine. Never here: its import, which takes a second.
"""

import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from simcli.errors import DeviceError, UsageError

ENGINE_VARIABLE = "SIMCLI_ENGINE"


@dataclass(frozen=True)
class KernelEngine:
    """An engine.

    Attributes:
        package: its name in Python and on the package index.
        title: its name in messages.
        prefix: of its environment variables.
        remedy: what to do where it is wanted and not installed.
    """

    package: str
    title: str
    prefix: str
    remedy: str

    @property
    def version(self) -> str:
        """Version of the installed package."""
        from importlib.metadata import version

        return version(self.package)


KERNEL_ENGINES = {
    "taichi": KernelEngine("taichi", "Taichi", "TI", "it has wheels for Python 3.11 to 3.13: pip install taichi==1.7.4"),
    "quadrants": KernelEngine(
        "quadrants", "Quadrants", "QD", "it has wheels for Python 3.12 to 3.14: pip install quadrants==1.4.0"
    ),
}


@dataclass(frozen=True)
class Support:
    """What simcli runs on.

    Attributes:
        system: as people call it.
        pythons: versions of Python.
        package: the engine that `pip install` brings.
        is_tested: whether the tests have run there; otherwise the code has been read for it.
    """

    system: str
    pythons: str
    package: str
    is_tested: bool


SUPPORT = (
    Support("Linux x86-64", "3.11 to 3.13", "taichi", True),
    Support("Linux x86-64", "3.14", "quadrants", False),
    Support("Linux aarch64", "3.12 to 3.14", "quadrants", False),
    Support("macOS arm64", "3.11 to 3.13", "taichi", False),
    Support("macOS arm64", "3.14", "quadrants", False),
)


def refuse_system() -> None:
    """Refuse a system on which nothing can be run.

    Raises:
        DeviceError: it is Windows.
    """
    if sys.platform == "win32":
        raise DeviceError(
            "simcli runs scenes on Linux and macOS, not on Windows itself; `simcli check`, `import` and `docs` work here, "
            "and everything does in the Windows Subsystem for Linux"
        )


@cache
def engine_of_process() -> KernelEngine:
    """The engine of this process: the one that the environment names, else the first that is installed.

    Raises:
        DeviceError: the system is not supported.
        UsageError: the environment names one that is unknown or not installed, or none is installed.
    """
    refuse_system()
    wanted = os.environ.get(ENGINE_VARIABLE)
    if wanted:
        if wanted not in KERNEL_ENGINES:
            raise UsageError(f"{ENGINE_VARIABLE}={wanted}: no such engine; choose {' or '.join(KERNEL_ENGINES)}")
        if not find_spec(wanted):
            raise UsageError(
                f"{ENGINE_VARIABLE}={wanted}: {wanted} is not installed for this Python; {KERNEL_ENGINES[wanted].remedy}"
            )
        return KERNEL_ENGINES[wanted]
    there = installed()
    if not there:
        remedies = "; ".join(f"{each.package}: {each.remedy}" for each in KERNEL_ENGINES.values())
        raise UsageError(f"neither {' nor '.join(KERNEL_ENGINES)} is installed for this Python ({remedies})")
    return there[0]


def installed() -> list[KernelEngine]:
    """Engines that this Python can import."""
    return [each for each in KERNEL_ENGINES.values() if find_spec(each.package)]


def is_loaded() -> bool:
    """Whether this process has imported an engine."""
    return any(name in sys.modules for name in KERNEL_ENGINES)


def cores() -> int:
    """Cores that this process may use: of the machine, less what a scheduler or a container keeps from it."""
    try:
        mine = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        mine = os.cpu_count() or 1
    of_job = os.environ.get("SLURM_CPUS_PER_TASK", "")  # which some schedulers do not enforce
    return max(1, min(mine, _quota(), int(of_job) if of_job.isdigit() else mine))


def _quota() -> int:
    """Cores' worth of time that the control group of this process gets."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as stream:
            quota, period = stream.read().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no such file, or "max"
        return os.cpu_count() or 1
