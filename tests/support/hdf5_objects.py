"""Which form of the HDF5 file format the objects of a file have, read from its bytes, without HDF5.

Source: HDF5 File Format Specification, version 3.0, IV.A.1.b (object headers) and IV.A.2 (their messages).
"""

from simcli.records.hdf5_bytes import lookup3

SIGNATURE, CONTINUED = b"OHDR", b"OCHK"
TIMES, PHASES, ORDERED, WIDTH = 0x20, 0x10, 0x04, 0x03  # bits of a header's flags
CONTINUATION = 0x10
DATATYPE = 0x03
# Message: the newest version that HDF5 1.10 knows.
NEWEST = {0x01: 2, DATATYPE: 3, 0x02: 0, 0x05: 3, 0x06: 1, 0x08: 4, 0x0A: 0, 0x0B: 2, 0x0C: 3, 0x15: 0}
NAMES = {
    0x01: "dataspace",
    DATATYPE: "datatype",
    0x02: "link info",
    0x05: "fill value",
    0x06: "link",
    0x08: "layout",
    0x0A: "group info",
    0x0B: "filters",
    0x0C: "attribute",
    0x15: "attribute info",
}


def headers(data):
    """(version, [(message, version)]) of every object header whose checksum is right."""
    at = data.find(SIGNATURE)
    while at >= 0:
        found = _header(data, at)
        if found:
            yield found
        at = data.find(SIGNATURE, at + 1)


def _header(data, at):
    version, flags = data[at + 4], data[at + 5]
    first = at + 6 + (16 if flags & TIMES else 0) + (4 if flags & PHASES else 0)
    width = 1 << (flags & WIDTH)
    start = first + width
    end = start + int.from_bytes(data[first:start], "little")
    if not _sums_up(data, at, end):
        return None
    messages, waiting = [], [(start, end)]
    while waiting:
        start, end = waiting.pop()
        for kind, body in _messages(data, start, end, 6 if flags & ORDERED else 4):
            if kind == CONTINUATION:
                address, length = (int.from_bytes(body[k : k + 8], "little") for k in (0, 8))
                assert data[address : address + 4] == CONTINUED
                assert _sums_up(data, address, address + length - 4)
                waiting.append((address + 4, address + length - 4))
            elif kind in NEWEST:
                messages.append((kind, body[0] >> 4 if kind == DATATYPE else body[0]))
    return version, messages


def _sums_up(data, start, end):
    return 0 < end - start < len(data) and lookup3(data[start:end]) == int.from_bytes(data[end : end + 4], "little")


def _messages(data, start, end, head):
    while start + head <= end:
        size = int.from_bytes(data[start + 1 : start + 3], "little")
        yield data[start], data[start + head : start + head + size]
        start += head + size
