"""Every way out of a command: exit codes, one-line messages, and the report file of an internal error.

Typer lets pydantic say what is wrong with a value of an option; it is said in our words here.
"""

import contextlib
import gc
import os
import re
import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from shlex import quote
from typing import Any

from simcli.cli import console
from simcli.cli.interrupts import StoppedEarly
from simcli.errors import Exit, OutputError, SceneError, SimcliError, SimcliWarning

_NUMBERS = {"int": "write a whole number", "float": "write a number"}  # by the first word of pydantic's types of errors
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
    "greater_than": ("gt", "above"),
    "less_than": ("lt", "below"),
}
_CHOICES = re.compile(r"is not one of (.*?)\.?\Z")
_QUOTED = re.compile(r"'([^']*)'")


def usage_words(error: Any) -> str:
    """The message of an error of the parser, as `--worlds 1.5: write a whole number`."""
    faults = getattr(error.__cause__, "errors", None)
    param = getattr(error, "param", None)
    if faults is None or param is None:
        return error.format_message()
    fault = faults()[0]
    given = quote(fault["input"]) if isinstance(fault["input"], str) else fault["input"]
    return f"{param.opts[0]} {given}: {_wanted(fault)}"


def _wanted(fault: dict) -> str:
    """What a value should have been."""
    kind, context = fault["type"], fault.get("ctx", {})
    number = _NUMBERS.get(kind.partition("_")[0])
    choices = _CHOICES.search(fault["msg"])
    if number:
        return number
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        bound = context[name]
        return f"must be {words} {bound if isinstance(bound, int) else format(bound, 'g')}"
    if choices:
        names = _QUOTED.findall(choices[1])
        near = get_close_matches(str(fault["input"]), names, n=1)
        others = f"{', '.join(names[:-1])} or " if names[1:] else ""
        return f"did you mean `{near[0]}`?" if near else f"write {others}{names[-1]}"
    return f"is no value of it ({fault['msg']})"


USAGE_EXIT_CODE = 2  # of every usage error that the parser of Typer raises
# A command makes objects that live until it ends: some hundred thousand, and for each of thousands of bodies sixty. Python's
# own threshold of 700 walks over all of them again and again, which is a sixth of a small command's time. Hardly any of
# them stand in circles, which is all that a collection finds: a run takes as much memory with this one as with a tenth.
OBJECTS_BETWEEN_COLLECTIONS = 2_000_000


def start_process() -> None:
    """Set the process up for one command, before anything is imported; what the environment says already, stands."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    # Plug-ins: pydantic would read the metadata of every installed package. Threads: our matrices in numpy are small, and
    # OpenBLAS lets every core spin for 0.1 s as it starts.
    for name in ("PYDANTIC_DISABLE_PLUGINS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    _open_closed_streams()
    if "HOME" not in os.environ and os.name == "posix":  # as of some services: Taichi would end the process
        os.environ["HOME"] = "/tmp"


def _open_closed_streams() -> None:
    """Keep descriptors 0 to 2 of a process that was started without them (`>&-`) from files that it opens.

    What is written to a closed stdout is an error of output; of a closed stderr it is lost, as was asked for.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number < 2 else os.O_WRONLY)  # the lowest free number, this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.dup(1), encoding="utf-8")  # opened for reading: writing raises
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.dup(2), "w", encoding="utf-8")


def leaves_at_once() -> bool:
    """Whether this process is left by `os._exit` when its command has ended, whatever happens."""
    return _at_once[-1]


_at_once = [False]


def run_command(words: Sequence[str], *, debug: bool, as_json: bool, at_once: bool = False) -> int:
    """Parse and run one command; turn every exception into a message and an exit code.

    Args:
        words: command line without the program's name and without `--debug`.
        debug: let exceptions through with their traceback.
        as_json: errors go to stdout as one JSON document too.
        at_once: the process is left by `leave_process` at once.

    Returns:
        the exit code.
    """
    _at_once[:] = [at_once and not debug]  # a traceback leaves by the interpreter
    show_warnings()
    try:
        from simcli.cli import app

        code = app.build_app(words)(list(words), prog_name="simcli", standalone_mode=False)
    except SimcliError as error:
        if debug:
            raise
        return _expected(error, as_json)
    except KeyboardInterrupt:
        console.say("interrupted")
        return Exit.INTERRUPTED
    except StoppedEarly as stop:
        console.say("stopped before the first step: nothing was written")
        return stop.code
    except (BrokenPipeError, console.ReaderGoneError):
        return _pipe_closed()
    except MemoryError:
        return _fail("out of memory: take fewer worlds or shorter runs", Exit.DEVICE, as_json)
    except Exception as error:
        if getattr(error, "exit_code", None) == USAGE_EXIT_CODE and hasattr(error, "format_message"):
            return _usage(error, as_json)
        if debug:
            raise
        return _unexpected(error, words, as_json)
    return Exit.OK if code is None else int(code)


def show_warnings() -> None:
    """Let our own warnings be read as the other messages; those of libraries stay as Python writes them."""
    if getattr(warnings.showwarning, "__module__", None) == __name__:
        return
    others = warnings.showwarning

    def show(message, category, *place, **more) -> None:
        if issubclass(category, SimcliWarning):
            console.warn(message)
        else:
            others(message, category, *place, **more)

    warnings.showwarning = show


def leave_process(code: int, at_once: bool = False) -> None:
    """Flush both streams and exit; a reader that closed the pipe is no error of ours.

    Args:
        code: exit code.
        at_once: the process is ours and nothing of it will be used again: spare the interpreter its tidying up.

    Raises:
        SystemExit: always, unless the process ends at once.
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = _pipe_closed()
    except OSError:  # a full disk behind a redirection; the command has said so, unless these were its last words
        code = code or Exit.OUTPUT
    if at_once:
        from simcli import engines

        if engines.is_loaded():
            from simcli.kernels.device.runtime import stop_device

            stop_device()
        os._exit(int(code))
    sys.exit(int(code))


def _expected(error: SimcliError, as_json: bool) -> int:
    if isinstance(error, SceneError):
        from simcli.spec.faults.diagnostics import fault_data, render_faults

        console.say(render_faults(error.faults, error.document, console.colour_wanted()))
        if as_json:
            faults = [fault_data(fault) for fault in error.faults]
            _emit_error({"exit_code": int(error.exit_code), "faults": faults})
        return error.exit_code
    return _fail(str(error), error.exit_code, as_json)


def _usage(error: Any, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "simcli")
    if not error.format_message() and not as_json:
        return Exit.USAGE  # no arguments at all: the help was printed
    words = usage_words(error)
    named = words.removeprefix("No such command '").partition("'")[0]
    if named != words and os.path.isfile(named):
        return _fail(f"{words}\n  to run a scene: simcli run {quote(named)}", Exit.USAGE, as_json)
    return _fail(f"{words}\n  try: {command} --help", Exit.USAGE, as_json)


def _fail(message: str, code: int, as_json: bool) -> int:
    console.say(console.paint("error:", "bad") + " " + message)
    if as_json:
        _emit_error({"exit_code": int(code), "message": message})
    return code


def _emit_error(document: dict) -> None:
    """The error as JSON, unless stdout is what is wrong."""
    with contextlib.suppress(OutputError, console.ReaderGoneError):
        console.emit("error", document)


def _unexpected(error: Exception, words: Sequence[str], as_json: bool) -> int:
    """An exception nobody planned for: one line here, the traceback in a file that can be sent in."""
    if isinstance(error, OSError):
        # The system refused something that has a name: the user's disk, folder or permission, not a defect of ours.
        name = f"{error.filename}: " if error.filename else ""
        return _fail(f"{name}{error.strerror or error}", Exit.OUTPUT, as_json)
    report = _write_report(error, words)
    line = str(error).strip().splitlines()
    summary = f"{type(error).__name__}: {line[0]}" if line else type(error).__name__
    return _fail(f"internal error: {summary}\n  report: {report}\n  a traceback: add --debug", Exit.INTERNAL, as_json)


def _write_report(error: Exception, words: Sequence[str]) -> str:
    """Write the traceback to a new file in the temporary folder; return its path, or why there is none."""
    import platform
    import tempfile
    import traceback

    import simcli

    lines = [
        f"simcli {simcli.__version__}, Python {platform.python_version()}, {platform.platform()}",
        "command: simcli " + " ".join(words),
        "",
        *traceback.format_exception(error),
    ]
    try:
        handle, path = tempfile.mkstemp(prefix="simcli-report-", suffix=".txt", text=True)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    except OSError as reason:
        return f"not written ({reason})"
    return path


def _pipe_closed() -> int:
    """`simcli ... | head`: point stdout at nothing so that the interpreter's own flush is silent."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.OK
