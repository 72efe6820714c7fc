"""`simcli info`: what is in an output file. `simcli repair`: a file whose writer was killed, for every HDF5 program."""

from shlex import join

from simcli.cli import console
from simcli.cli.options import FilePath, JsonFlag
from simcli.errors import Exit

_MAX_NAMES = 12  # names of a kind on a terminal; --json holds all of them


def info(file: FilePath, json: JsonFlag = False) -> int:
    """Show what is in an output: frames, worlds, names, events, provenance.

    Works on finished, running and killed runs, and on results of fk, ik, id, mass-matrix and jacobian.
    Example: simcli info outputs/swing.h5
    """
    from simcli.records.integrity.verification import file_info as read_info
    from simcli.records.reading.result_reader import Results, is_result

    if is_result(file):
        with Results(file) as result:
            found, text = result.info(), _result_text
    else:
        found, text = read_info(file), _text
    if json:
        console.emit("info", found)
    else:
        console.data(text(found))
    return Exit.OK


def _result_text(found: dict) -> str:
    rows = [
        ("file", f"{found['path']}  ({console.size_text(found['bytes'])})"),
        ("result of", found["kind"]),
        ("states", f"{found['states']}, from {found['source']}"),
        ("fields", ", ".join(found["fields"])),
        ("bodies", _names(found["bodies"])),
        ("joints", _names(found["joints"])),
        ("command", join(found["argv"])),
        ("device", found["device"]),
        ("made", found["created_utc"]),
        ("versions", ", ".join(f"{name} {version}" for name, version in found["versions"].items())),
    ]
    return console.table([row for row in rows if row[1] != ""], indent="")


def _text(found: dict) -> str:
    source = found["provenance"]
    first, last = found["time"] or (0.0, 0.0)
    rows = [
        ("file", f"{found['path']}  ({console.size_text(found['bytes'])})"),
        ("status", console.status_text(found["status"])),
        ("frames", f"{found['frames']}, t = {first:g} to {last:g} s, {found['steps']} steps"),
        ("worlds", _worlds(found["worlds"], found["batch_worlds"])),
        ("varied", _names(found["params"])),
        ("bodies", _names(found["bodies"])),
        ("joints", _names(found["joints"])),
        ("points", _names(found["points"])),
        ("measures", _names(list(found["measures"]))),
        ("error estimate", found["error_estimate"]),
        ("coordinates", f"{found['coordinates']['q']} q, {found['coordinates']['qd']} qd"),
        ("natural", _names(found["naturals"])),
        ("channels", f"{', '.join(found['channels'])}  ({found['dtype']})"),
        ("contacts", found["contacts"] or ""),
        ("events", _events(found["events"])),
        ("scene", ", ".join(source["scene_files"])),
        ("command", join(source["argv"])),
        ("made of", _origin(source["origin"])),
        ("device", f"{source['device']}, {source['precision']}, seed {source['seed']}"),
        ("made", f"{source['created_utc']} in {console.duration_text(found['wall_s'])}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in source["versions"].items())),
        ("digest", found["digest"] or "-"),
    ]
    text = console.table([row for row in rows if row[1] != ""], indent="")
    return "\n".join([text, *(f"  {line}" for line in found["events"]["first"])])


def _worlds(count: int, numbers: list[int] | None) -> str:
    """How many worlds a file holds, and which of the batch, where these are not the first of it."""
    if numbers is None:
        return str(count)
    more = ", ..." if count > _MAX_NAMES else ""
    return f"{count}, in the batch {', '.join(map(str, numbers[:_MAX_NAMES]))}{more}"


def _origin(origin: dict | None) -> str:
    """`slice of a.h5, frames 0:20:2, worlds 1, 2`."""
    if not origin:
        return ""
    parts = [
        f"{one['path']}, frames {':'.join(map(str, one['frames']))}, worlds {_names(list(map(str, one['worlds'])))}"
        for one in origin["from"]
    ]
    return f"{origin['command']} of {'; '.join(parts)}"


def _names(names: list[str]) -> str:
    """`3: a, b, c`, or the first few."""
    if not names:
        return ""
    more = ", ..." if len(names) > _MAX_NAMES else ""
    return f"{len(names)}: {', '.join(names[:_MAX_NAMES])}{more}"


def _events(events: dict) -> str:
    if not events["count"]:
        return "none"
    return ", ".join(f"{code} x {count}" for code, count in events["codes"].items())


def repair(file: FilePath, json: JsonFlag = False) -> int:
    """Make the output of a killed run readable for other programs.

    Clears the mark by which HDF5 refuses it, cuts what was not committed, and marks the run as stopped; `--resume` can still
    go on with it. simcli itself reads such a file as it is. Example: simcli repair outputs/swing.h5
    """
    from simcli.records.integrity.repair import repair_file

    done = repair_file(file)
    if json:
        console.emit("repair", {"path": file, "done": done})
    else:
        console.say(done)
    return Exit.OK
