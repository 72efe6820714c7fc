"""A kernel is compiled once for a processor: a shared object beside its text, which is never taken unless it is whole."""

import subprocess
import time

import pytest
from support.scenes import FALL
from test_kernel_cache import cache  # noqa: F401
from test_stubs import TAKEN, TRACED, facts, first, kept, one_device, run, stubs_here  # noqa: F401

from simcli.kernels.language import kernel_cache, machine_code
from simcli.kernels.language.internals import engine
from simcli.kernels.language.machine_code import CODE_SUFFIX, LIGHT_SUFFIX, REFUSED_SUFFIX

pytestmark = pytest.mark.skipif(machine_code.code_tools(engine.FILE_MARK) is None, reason="no llc, or no ld")


@pytest.fixture(autouse=True)
def wanted(monkeypatch):
    """In place of conftest.py's: code is made. What a process that goes on would make, is made before the run has ended."""
    monkeypatch.setenv(machine_code.CODE_SWITCH, "1")
    made = []

    def make_now(folder, kernels):
        for stub, kernel in kernels.items():
            made.append(stub)
            machine_code.make_or_refuse(kernel, stub, folder)

    monkeypatch.setattr(machine_code, "make_code_later", make_now)
    return made


@pytest.fixture
def coded(first, cache, tmp_path, wanted):  # noqa: F811
    """A run has been that made code; its digest, what is left of the text, and the code."""
    taken, digest = run(tmp_path)
    assert (facts(taken), digest, len(wanted)) == (TAKEN, first, 1)
    (light,), (code,) = cache.rglob(f"*{LIGHT_SUFFIX}"), cache.rglob(f"*{CODE_SUFFIX}")
    return first, light, code


def test_a_kernel_is_compiled_once_for_a_processor(coded, cache, tmp_path, wanted):  # noqa: F811
    """Its bytes are the same, also of other numbers, and nothing is made twice."""
    digest, light, code = coded
    (kernel,) = cache.rglob(f"*{kernel_cache.SUFFIX}")
    assert light.stat().st_size < kernel.stat().st_size / 5
    assert light.name.startswith(machine_code.processor_key())
    taken, again = run(tmp_path)
    assert (facts(taken), again) == (TAKEN, digest)
    other = run(tmp_path, FALL, "bodies.ball.mass=2", "world.gravity=[1,2,3]")
    code.unlink()
    assert run(tmp_path, FALL, "bodies.ball.mass=2", "world.gravity=[1,2,3]")[1] == other[1] != digest
    assert len(wanted) == 2


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def bent(path):
    data = path.read_bytes()
    path.write_bytes(data[:3000] + bytes([data[3000] ^ 1]) + data[3001:])


@pytest.mark.parametrize("harm", [cut, bent])
@pytest.mark.parametrize("which", [LIGHT_SUFFIX, CODE_SUFFIX])
def test_damaged_code_is_never_run(harm, which, coded, tmp_path):
    """Code whose sum is wrong goes; of a damaged text Taichi would compile the stub, which does nothing."""
    digest, light, code = coded
    harm(light if which == LIGHT_SUFFIX else code)
    taken, again = run(tmp_path)
    assert (facts(taken), again) == (TRACED, digest)
    assert code.exists() == (which == LIGHT_SUFFIX)
    taken, again = run(tmp_path)
    assert again == digest


@pytest.mark.parametrize("which", [LIGHT_SUFFIX, CODE_SUFFIX])
def test_half_of_a_pair_is_not_taken(which, coded, tmp_path, wanted):
    """As a process leaves it that is killed, or a folder that was tidied: the text serves, and the pair is made anew."""
    digest, light, code = coded
    (light if which == LIGHT_SUFFIX else code).unlink()
    taken, again = run(tmp_path)
    assert (facts(taken), again) == (TAKEN, digest)
    assert light.exists()
    assert code.exists()
    assert len(wanted) == 2


def test_another_processor_has_other_code(coded, cache, tmp_path, monkeypatch, wanted):  # noqa: F811
    digest = coded[0]
    monkeypatch.setattr(machine_code, "processor_key", lambda: "0" * 16)
    taken, again = run(tmp_path)
    assert (facts(taken), again) == (TAKEN, digest)
    assert len(list(cache.rglob(f"*{CODE_SUFFIX}"))) == len(wanted) == 2


def test_without_tools_or_wish_the_text_serves(first, cache, tmp_path, monkeypatch, wanted):  # noqa: F811
    with monkeypatch.context() as patch:
        patch.setattr("shutil.which", lambda name: None)
        assert run(tmp_path)[1] == first
    monkeypatch.setenv(machine_code.CODE_SWITCH, "0")
    assert run(tmp_path)[1] == first
    assert wanted == []


def test_a_kernel_that_the_tools_refuse_is_not_tried_again(first, cache, tmp_path, monkeypatch, wanted):  # noqa: F811
    def refuse(words, **_):
        raise subprocess.CalledProcessError(1, words)

    monkeypatch.setattr(machine_code.subprocess, "run", refuse)
    for _ in range(2):
        assert run(tmp_path)[1] == first
    assert len(wanted) == len(list(cache.rglob(f"*{REFUSED_SUFFIX}"))) == 1
    assert not list(cache.rglob(f"*{CODE_SUFFIX}"))


def test_code_that_depends_on_its_place_is_refused(tmp_path, monkeypatch):
    """The linker would mend its text whenever it is loaded."""
    text = "define void @f(i64** %x) {\n  store i64* @g, i64** %x\n  ret void\n}\n@g = internal global i64 1\n"
    assert machine_code.compiled_code(text, tmp_path, engine.FILE_MARK)
    run_tool = subprocess.run

    def without_pic(words, **more):
        fixed = {"-relocation-model=pic": "-relocation-model=static"}
        return run_tool([fixed.get(word, word) for word in words], **more)

    monkeypatch.setattr(machine_code.subprocess, "run", without_pic)
    with pytest.raises(subprocess.CalledProcessError):
        machine_code.compiled_code(text, tmp_path, engine.FILE_MARK)


TEXT = """%T = type { i32 }

define void @task_0(%T* %x) #0 {
  call void @function_body.1(%T* %x)
  call fastcc void @help(%T* %x)
  ret void
}

define internal fastcc void @help(%T* %x) {
  ret void
}

; Function Attrs: nounwind
define internal void @function_body.1(%T* nocapture %x) unnamed_addr #0 {
  call fastcc void @take_1(%T* %x)
  ret void
}

define internal fastcc void @take_1(%T* %0) #0 {
  ret void
}

define internal void @cpu_parallel_range_for_task(i8* %0) #0 {
  ret void
}

attributes #0 = { nounwind }
"""


def test_texts_are_split_at_their_large_functions():
    light, heavy = machine_code.split_text(TEXT, "p_")
    named = TEXT.replace("fastcc ", "").replace("@function_body", "@p_function_body")
    only_named = "declare void @p_function_body.1(%T* nocapture %x)\n\ndeclare void @p_take_1(%T* %0)\n"
    rest = TEXT[TEXT.index("\ndefine internal void @cpu_par") :]
    assert light == named.split("define internal void @p_function")[0] + only_named + rest
    assert "define void @p_take_1(%T* %0) #0 {" in heavy
    assert "define void @p_function_body.1(%T* nocapture %x) unnamed_addr #0 {\n  call void @p_take_1" in heavy
    assert "task" not in heavy
    assert "define internal void @help" in heavy
    assert "attributes #0" in heavy
    assert machine_code.split_text("define void @f() {\n}\n", "p_") is None


def test_a_process_that_nobody_waits_for_makes_it(first, cache, tmp_path, monkeypatch):  # noqa: F811
    """It holds a lock meanwhile, so that there is one; it needs no environment, and no folder to work in."""
    monkeypatch.undo()
    monkeypatch.setenv(machine_code.CODE_SWITCH, "1")
    (kernel,) = cache.rglob(f"*{kernel_cache.SUFFIX}")
    machine_code.make_code_later(kernel.parent, {"T" + "1" * 64: str(kernel)})
    end = time.monotonic() + 120.0
    while not list(kernel.parent.glob(f"*{LIGHT_SUFFIX}")) and time.monotonic() < end:
        time.sleep(0.1)
    (code,) = kernel.parent.glob(f"*-T{'1' * 64}-*{CODE_SUFFIX}")
    assert machine_code.load_code(str(code))
