"""Loops that the compiler keeps as loops, and compiled kernels, finished: what LLVM cannot know better, and leaves.

LLVM believes that today's processors like loop bodies of thousands of instructions, and unrolls each of ours eight times.
That is most of the time that a scene takes to compile, grows with the scene, and gains nothing: the memory of a block of
worlds sets the pace. A body with a call is left alone. So every loop of a device function gets one, after a test that is
never true but that the compiler cannot decide; bounds are opaque to it, so that its work does not depend on the scene.

Arguments of a kernel stay while it runs, but LLVM must think that every store may change them, and loads the address of the
memory anew after each. Here each function loads it once. Once loops are compiled the branch that is never taken only costs:
it goes. What is computed stays as it is, so that the bytes of a run do not depend on it: stacks of boxes take 0.78 of the
time, humanoids 0.8, rows of 20 four-bars 0.75.

Taichi keeps the text in a file of its own for each kernel (1.7.4): a mark, two lengths, the facts of the kernel, the text,
and a checksum of both. Files that look otherwise, and kernels of a GPU, stay as they are.
"""

import ast
import re
from functools import cache
from types import SimpleNamespace

from simcli.kernels.language.backend import default_real
from simcli.kernels.language.expressions import item
from simcli.kernels.language.internals import ASTTransformer, engine, ti
from simcli.kernels.language.machine_code import file_of, file_parts
from simcli.kernels.language.numbers import unknown_zero, unused_number

_ROLLING = "_rolling"  # in device functions
UNREACHED = 2_000_000_000  # iterations
GUARD = f"if {{0}} > {UNREACHED}: {_ROLLING}.call()"
_ZERO = f"{_ROLLING}.zero()"

_fields = SimpleNamespace(zero=None, sink=None)
_build_range_for = ASTTransformer.build_range_for


def keep_loops_rolled(keep: bool) -> None:
    """Compile the loops of simcli's device functions as loops from now on, or as Taichi's own.

    Args:
        keep: True directly after Taichi's start on a CPU; False on a GPU.
    """
    ASTTransformer.build_range_for = staticmethod(_build_rolled if keep else _build_range_for)
    if keep:
        _fields.zero, _fields.sink = ti.field(ti.i32, shape=1), ti.field(default_real(), shape=1)


def _zero():
    """0, which the compiler does not know (inside kernels)."""
    found = unknown_zero()
    return item(_fields.zero, 0) if found is None else found


def _call():
    """A call of the C library, with a number that nobody uses (inside kernels)."""
    place = unused_number()
    place = item(_fields.sink, 0) if place is None else place
    place._assign(getattr(ti, engine.CALLED)(place))


_here = SimpleNamespace(zero=_zero, call=_call)


def _build_rolled(ctx, node: ast.For):
    if ctx.is_kernel or not ctx.func.func.__module__.startswith("simcli."):
        return _build_range_for(ctx, node)
    ctx.global_vars[_ROLLING] = _here
    bounds = node.iter.args
    end = bounds[-1]
    if not any(isinstance(part, ast.Call) for part in ast.walk(end)):  # what is read from a table is opaque already
        node.iter.args = [*bounds[:-1], ast.copy_location(ast.BinOp(end, ast.Add(), _parsed(_ZERO).value), end)]
    node.body = [*node.body, _parsed(GUARD.format(node.target.id))]
    return _build_range_for(ctx, node)


@cache
def _parsed(text: str) -> ast.stmt:
    """Tree of a statement; all loops share it, for Taichi leaves in a tree only what it overwrites when it comes again."""
    return ast.parse(text).body[0]


_OF_CPU = b"@cpu_parallel_range_for_task("  # is in every kernel of a CPU that has a loop over blocks

_OURS = "%arguments.at"  # is in a function that is finished
_NAME = r"%[\w.]+"
_POINTER = r"[\w<> ]+\*"  # type of an address
_HEADS, _END = re.compile(r"^define ", re.MULTILINE), "\n}\n"  # of functions
_BEGIN = re.compile(r"\A[^\n]*\n(?:[\w.]+:[^\n]*\n)?")  # its head, and the name of its first block
_CONTEXT = re.compile(rf"\((%struct\.RuntimeContext[\w.]*\*)[^%,)]*({_NAME})")  # type and name of its first parameter
_GUARD = re.compile(rf"^  ({_NAME}) = icmp (?:samesign )?[us]gt i\d+ {_NAME}, {UNREACHED}$", re.MULTILINE)
_BRANCH = re.compile(rf"^  br i1 ({_NAME}), label {_NAME}, label ({_NAME})$", re.MULTILINE)
_MEMBER = re.compile(rf"^  ({_NAME}) = getelementptr [^%]*\{{.*\* ({_NAME}), i64 0, i32 (\d+), i32 1$", re.MULTILINE)
_CAST = re.compile(rf"^  ({_NAME}) = bitcast ({_POINTER})\* ({_NAME}) to {_POINTER}\*$", re.MULTILINE)
_LOAD = re.compile(rf"^  ({_NAME}) = load ({_POINTER}), {_POINTER}\* ({_NAME}), align 8$", re.MULTILINE)

# The same where addresses have no types, as of LLVM 16: functions that are given the context are known by their names.
_PLAIN_CONTEXT = re.compile(r"@(?:function_body[\w.]*|take_\w+)\(ptr [^%,]*(%[\w.]+)|\(ptr [^%,]*(%context)\)")
_PLAIN_LOAD = re.compile(rf"^  ({_NAME}) = load ptr, ptr ({_NAME}), align 8$", re.MULTILINE)
_PLAIN_MEMBER = re.compile(
    rf"^  ({_NAME}) = getelementptr (?:inbounds )?(?:nuw )?i8, ptr ({_NAME}), i64 (\d+)$", re.MULTILINE
)
_PLAIN_JOIN = re.compile(rf"^  ({_NAME}) = phi ptr (.*)$", re.MULTILINE)


def finished_file(data: bytes) -> bytes:
    """A file of Taichi's with the finished text of its kernel; as it is if it is not what it is thought to be."""
    parts = file_parts(data)
    if parts is None or not any(_OF_CPU in part for part in parts):
        return data
    mark, facts, text = parts
    return file_of(mark, facts, finished_text(text.decode()).encode())


def finished_text(text: str) -> str:
    """The text of a kernel: functions without guards, each of which loads the address of an array once."""
    return _END.join(map(_finished_function, text.split(_END)))


def _finished_function(text: str) -> str:
    """A function, and what stands before it."""
    head = _HEADS.search(text)
    return text[: head.start()] + _with_addresses(_without_guards(text[head.start() :])) if head else text


def _without_guards(function: str) -> str:
    """A function whose loops have no branch that is never taken; the block to which it leads is left out as unreachable."""
    guards = {found[1] for found in _GUARD.finditer(function)}
    return _BRANCH.sub(lambda found: f"  br label {found[2]}" if found[1] in guards else found[0], function)


def _with_addresses(function: str) -> str:
    """A function that loads the address of each array that it is given where it begins."""
    end_of_head = function.index("\n")
    if _OURS in function:
        return function
    if plain := _PLAIN_CONTEXT.search(function, 0, end_of_head):
        return _with_plain_addresses(function, plain[1] or plain[2])
    context = _CONTEXT.search(function, 0, end_of_head)
    if not context:
        return function
    kind, name = context.groups()
    lists, members = _lists_of_arguments(function, kind, name)
    if not members:
        return function
    arrays = {member: int(k) for member, source, k in _MEMBER.findall(function) if source in lists}
    kinds = {arrays[source]: kind for _, kind, source in _LOAD.findall(function) if source in arrays}
    casts = [(cast, kind, source) for cast, kind, source in _CAST.findall(function) if source in arrays]
    kinds |= {arrays[source]: kind for _, kind, source in casts}
    arrays |= {cast: arrays[source] for cast, _, source in casts}

    def known(found: re.Match) -> str:
        k = arrays.get(found[3])
        return found[0] if k is None else f"  {found[1]} = bitcast {kinds[k]} %array.{k} to {found[2]}"

    lines = [
        f"{_OURS} = bitcast {kind} {name} to {members}**",
        f"%arguments = load {members}*, {members}** {_OURS}, align 8",
    ]
    for k, address in sorted(kinds.items()):
        lines += [
            f"%array.{k}.at = getelementptr {members}, {members}* %arguments, i64 0, i32 {k}, i32 1",
            f"%array.{k} = load {address}, {address}* %array.{k}.at, align 8",
        ]
    head = _BEGIN.match(function)[0]
    return head + "".join(f"  {line}\n" for line in lines) + _LOAD.sub(known, function[len(head) :])


def _with_plain_addresses(function: str, context: str) -> str:
    """As `_with_addresses`, of a function whose addresses have no types.

    Args:
        function: its text.
        context: name of its first parameter, where the address of the list of its arguments stands.
    """
    loads = _PLAIN_LOAD.findall(function)
    lists = _with_joined({load for load, source in loads if source == context}, dict(_PLAIN_JOIN.findall(function)))
    members = {member: int(place) for member, source, place in _PLAIN_MEMBER.findall(function) if source in lists}
    places = sorted({members[source] for _, source in loads if source in members})
    if not places:
        return function

    def known(found: re.Match) -> str:
        place = members.get(found[2])
        return found[0] if place is None else f"  {found[1]} = bitcast ptr %array.{place} to ptr"

    lines = [f"{_OURS} = bitcast ptr {context} to ptr", f"%arguments = load ptr, ptr {_OURS}, align 8"]
    for place in places:
        lines += [
            f"%array.{place}.at = getelementptr i8, ptr %arguments, i64 {place}",
            f"%array.{place} = load ptr, ptr %array.{place}.at, align 8",
        ]
    head = _BEGIN.match(function)[0]
    return head + "".join(f"  {line}\n" for line in lines) + _PLAIN_LOAD.sub(known, function[len(head) :])


def _lists_of_arguments(function: str, kind: str, name: str) -> tuple[set[str], str]:
    """Where a function has the address of the list of its arguments, and the type of that list; "" if it has none.

    Args:
        function: its text.
        kind, name: of its first parameter, which leads there.
    """
    start = f" = bitcast {kind} {name} to {{"
    casts = {line.split(" = ", 1)[0].strip() for line in function.split("\n") if start in line and line.endswith("}**")}
    loads = re.findall(rf"^  ({_NAME}) = load (\{{.*}})\*, \{{.*}}\*\* ({_NAME}), align 8$", function, re.MULTILINE)
    found = [(load, members) for load, members, source in loads if source in casts]
    kinds = {members for _, members in found}
    if len(kinds) != 1:
        return set(), ""
    members = kinds.pop()
    joins = re.findall(rf"^  ({_NAME}) = phi {re.escape(members)}\* (.*)$", function, re.MULTILINE)
    return _with_joined({load for load, _ in found}, dict(joins)), members


def _with_joined(values: set[str], joins: dict[str, str]) -> set[str]:
    """Some values, and the joins (phi) that have nothing but these.

    Args:
        values: their names.
        joins: text of each by its name.
    """
    joined = {join: set(re.findall(rf"\[ ({_NAME}|\w+),", text)) for join, text in joins.items()}
    while strange := [join for join, parts in joined.items() if not parts <= values | joined.keys()]:
        for join in strange:
            del joined[join]
    return values | joined.keys()
