"""How Taichi finds the text of device functions: without a search through all modules that Python has.

Taichi looks up source with Python's module `inspect`, made for people: whenever a function is decorated, it asks which
module stands around it, by a walk over all modules that are loaded; whenever a function is built into a kernel, it cuts its
text out of the file token by token. The interpreter knows both: a class's body has the name of the class, and the code of a
function ends where its last expression does.
"""

import linecache
import sys
from types import CodeType

from simcli.kernels.language.internals import kernel_impl


def stands_in_class(level_of_class_stackframe: int) -> bool:
    """Whether a function that is being decorated stands in a class.

    Args:
        level_of_class_stackframe: of the frame around the class, counted from here.
    """
    return "__qualname__" in sys._getframe(level_of_class_stackframe - 1).f_locals


def last_line(code: CodeType) -> int:
    """Line of the file where a function's code ends, what is defined in it included."""
    inner = [last_line(const) for const in code.co_consts if isinstance(const, CodeType)]
    return max([end for _, end, _, _ in code.co_positions() if end is not None] + inner)


def source_lines(function) -> tuple[list[str], int]:
    """Text of a function, decorators first, and the line of its file where it begins."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    first, end = code.co_firstlineno, last_line(code)
    if end > len(lines):  # of no file
        return _source_lines(function)
    depth = _depth(lines[first - 1])
    while end < len(lines) and (_depth(lines[end]) > depth or not lines[end].strip()):
        end += 1  # what leaves no code, as a last `pass`
    return lines[first - 1 : end], first


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


_source_lines = kernel_impl.getsourcelines
kernel_impl._inside_class = stands_in_class
kernel_impl.getsourcelines = source_lines
