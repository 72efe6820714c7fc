"""Taichi gets the same texts of device functions as by its own search, which is most of the time of a start."""

import ast
import inspect
import pkgutil
import textwrap
from importlib import import_module

import pytest
from support.process import python

import simcli.kernels
import simcli.solvers
from simcli.kernels.language import source_text, ti
from simcli.kernels.language.internals import kernel_impl


def device_functions():
    """Every function of kernels and solvers that Taichi compiles: (Python's function, whether it stands in a class)."""
    for room in (simcli.kernels, simcli.solvers):
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            names = vars(import_module(module.name))
            for owner in [names, *(vars(value) for value in names.values() if inspect.isclass(value))]:
                for value in owner.values():
                    made = getattr(value, "_primal", None) or getattr(value, "func", None)
                    if isinstance(made, kernel_impl.Func | kernel_impl.Kernel):
                        is_method = getattr(value, "_is_classfunc", False) or getattr(value, "_is_classkernel", False)
                        yield made.func, is_method


def meaning(lines):
    return ast.dump(ast.parse(textwrap.dedent("".join(lines))))


def test_texts_of_all_device_functions_are_those_of_the_file():
    found = dict(device_functions())
    assert len(found) > 300
    for function, in_class in found.items():
        lines, first = source_text.source_lines(function)
        expected, line = inspect.getsourcelines(function)
        assert (meaning(lines), first) == (meaning(expected), line), function
        assert in_class == ("." in function.__qualname__.rpartition("<locals>.")[2]), function


@ti.data_oriented
class Counter:
    @ti.kernel
    def next(self, x: ti.i32) -> ti.i32:
        return self.add(x)

    @ti.func
    def add(self, x):
        y = x + 1
        if y > 10:
            y = 0
        else:
            pass
        return (
            y
        )


def test_methods_and_odd_ends_are_found(device):
    assert Counter().next(4) == 5
    assert Counter().next(10) == 0


def ends_with_pass(x):
    if x > 0:
        x += 1
    else:
        pass


def test_what_leaves_no_code_is_part_of_the_text():
    lines, _ = source_text.source_lines(ends_with_pass)
    assert meaning(lines) == meaning(inspect.getsourcelines(ends_with_pass)[0])


def test_python_keeps_its_own_functions():
    assert python("import inspect; mine = inspect.getframeinfo\n"
                  "import simcli.kernels; print(mine is inspect.getframeinfo)") == "True\n"  # fmt: skip


@pytest.mark.parametrize("room", ["simcli.kernels.device.runtime", "simcli.solvers"])
def test_modules_are_not_searched_at_a_start(room):
    """Taichi looks through all modules of Python at each function that is decorated: a second of every start."""
    code = ("import inspect\ncalls, own = [], inspect.getmodule\n"
            "inspect.getmodule = lambda *found: calls.append(found) or own(*found)\n"
            f"import simcli.kernels, {room}; print(len(calls))")  # fmt: skip
    assert int(python(code)) < 20
