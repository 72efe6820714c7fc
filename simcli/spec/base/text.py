"""Bytes of a file as text: its encoding, its lines, and the characters that it may have."""

import re

from simcli.errors import Where
from simcli.spec.base.fault_list import Faults

MAX_BYTES = 64 * 2**20
MARKED_ENCODINGS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"), (b"\x00\x00\xfe\xff", "UTF-32"))
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def split_lines(text: str) -> list[str]:
    """Lines as the loader counts them; plain replacing takes a quarter of the time of a pattern."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def decode(data: bytes, file: str, faults: Faults) -> str | None:
    """Bytes to text: UTF-8, a byte order mark is dropped; None after a fault."""
    if len(data) > MAX_BYTES:
        faults.add("SC105", f"the file has {len(data)} bytes, the limit is {MAX_BYTES} (64 MiB)", Where(file, 1, 1))
        return None
    for start, name in MARKED_ENCODINGS:
        if data.startswith(start):
            faults.add("SC104", f"the file is {name}", Where(file, 1, 1), "save it as UTF-8")
            return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        lines = split_lines(before)
        place = Where(file, len(lines), len(lines[-1]) + 1)
        faults.add("SC104", f"byte 0x{data[error.start]:02x} is not UTF-8", place, "save the file as UTF-8")
        return None
    bad = _CONTROL.search(text)
    if bad:
        lines = split_lines(text[: bad.start()])
        place = Where(file, len(lines), len(lines[-1]) + 1)
        faults.add("SC104", f"control character U+{ord(bad.group()):04X}", place, "remove it, or escape it in quotes")
        return None
    return text
