"""Cores that a process may use: those of the machine, less what a scheduler keeps from it."""

import pytest

from simcli.cores import cores
from simcli.kernels.device.runtime import start_device


@pytest.mark.parametrize(("said", "found"), [("1", 1), ("100000", None), ("many", None), ("", None)])
def test_a_job_has_the_cores_that_its_scheduler_gives_it(monkeypatch, said, found):
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    all_ = cores()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", said)
    assert cores() == (found or all_) >= 1


def test_a_run_has_a_thread_on_each_of_them(monkeypatch):
    """All cores of a node were taken where a job had some of them."""
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    assert start_device("cpu").threads == 1
