"""An optimization that is killed (-9) again and again ends as one that nobody killed."""

import json
import time

import pytest
from support.process import TIMEOUT, simcli_apart, start
from support.search_scenes import BLOCK

from simcli.errors import Exit

pytest.importorskip("cma")

GENERATIONS = 5
KILLED_AT = (2, 4)  # lines of the ledger, the head among them


@pytest.mark.slow
def test_kills_lose_nothing(tmp_path):
    scene, kept = tmp_path / "block.yaml", tmp_path / "kept"
    scene.write_text(BLOCK)
    words = ["optimize", scene, "--vary", "forces.spring.stiffness=10..200", "--vary", "joints.rail.q=0.1..0.3",
             "--minimize", "measure.peak", "--population", 4, "--generations", GENERATIONS, "--json"]  # fmt: skip
    for n_lines in KILLED_AT:
        process = start(*words, "-o", kept)
        end = time.monotonic() + TIMEOUT
        while lines_in(kept) < n_lines and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert lines_in(kept) >= n_lines
    gone_on, whole = simcli_apart(*words, "-o", kept), simcli_apart(*words)
    assert gone_on.returncode == whole.returncode == Exit.NEGATIVE, gone_on.stderr
    first, second = json.loads(gone_on.stdout), json.loads(whole.stdout)
    assert first.pop("from_ledger") >= KILLED_AT[-1] - 1
    assert (second.pop("from_ledger"), first.pop("folder"), second.pop("folder")) == (0, str(kept), None)
    assert first == second


def lines_in(folder):
    return sum(file.read_bytes().count(b"\n") for file in (folder / "ledger").glob("*.jsonl"))
