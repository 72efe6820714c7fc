"""Programs: a step is a list of stages (stage_lists.py), which a kernel takes one after another as a table says.

Each stage stands in the compiled code once, however often lists mention it, so that a list costs nothing to compile, and
every backend compiles the same. Stages within a `repeat` write through the mask of its worlds (`Arena.writing`), so that a
world that is done keeps its bytes whatever its neighbours do. Where a list has come to lies in memory, so that each stage
may be a kernel (`take_alone`).
"""

from collections.abc import Callable, Iterable

import numpy as np

from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.crew import (
    close_stage,
    has_part,
    is_in_parts,
    leave_stage,
    open_to_crew,
    take_all_items,
    wait_for_stage,
)
from simcli.kernels.device.notes import Notes, Registers
from simcli.kernels.device.stage_lists import Repeat, Set, StageOf, Within, is_first, sets_of, threads_beside, wait_for
from simcli.kernels.language import ti
from simcli.kernels.language.calls import procedure
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.numbers import number

TAKE, _SET, ENTER, LEAVE, TOGETHER, _FORK, _JOIN = range(7)  # kinds of lines
NOBODY = -1  # number of a stage that is none
_GROUP, MOST_GROUPS = 12, 8  # stages of a function
_ALONE = 16  # stages of a function that needs no others: a step of a short chain takes 12 % longer in two


_tables: dict[tuple, tuple] = {}  # by list, and names of registers: what `Program` makes of them


class Program:
    """A list in memory.

    Args:
        arena: of the run, not built yet.
        body: stages, repetitions, lists of other owners.
        registers: that the list sets.

    Attributes:
        stages: each of them once, and the conditions; their `places` are their numbers.
        masked: the stages that a repetition of worlds holds somewhere.  of_worlds: the conditions of such ones.
        of_blocks: the conditions of blocks.
        n: lines.  n_bits: of the number of a line.
        kind: of a line, see TAKE.  stage: its number.  level: number of repetitions that hold it.
        target: line to go to, behind a repetition that nobody enters, or back to its begin.
        most: turns; or the value that is set, of register `target`.
        lines: kind, stage and level of each, as the host has them.
        known: while lines are made, values of registers that are sure where the list is. What a repetition of worlds sets is
            set back after it: a register is of a block, and the worlds that have not begun it go on with theirs.
        sets: whether there are registers.
        is_shared: whether threads of a world take some of its stages together, see crew.py.
        in_warps: whether threads of a warp take it that may part, each for a world of its own, see stage_lists.py.
        masks: (levels) 1 for the worlds of a repetition.
        counters: of a block: the line, and the turns of each level.
    """

    _data_oriented = True
    _untraced = ("places", "known")

    def __init__(self, arena: Arena, body: Iterable, registers: Registers | None = None):
        self.arena, self.registers, self.sets = arena, registers, registers is not None
        shares = arena.crew is not None
        key = (tuple(body), (registers.names, registers.zeros) if registers else (), shares)
        self.known = dict.fromkeys(registers.zeros if registers else (), 0)
        if key not in _tables:  # phases of a run have the same
            self.places, self.stages = {}, []
            self.masked, self.of_worlds, self.of_blocks = set(), set(), set()
            lines: list = []
            self.add(key[0], (), 0, False, lines)
            stages = {stage for kind, stage, *_ in lines if kind in (TAKE, TOGETHER)} - {NOBODY}
            assert not (self.of_worlds | self.of_blocks) & stages, "a stage is no condition"
            self.renumber(lines)
            depth = max(line[2] for line in lines) + 1
            _tables[key] = self.stages, self.masked, self.of_worlds, self.of_blocks, np.array(lines, np.int32).T, depth
        self.stages, self.masked, self.of_worlds, self.of_blocks, columns, depth = _tables[key]
        self.n, self.n_stages = len(columns[0]), len(self.stages)
        self.is_shared = TOGETHER in columns[0] or _FORK in columns[0]
        self.n_bits = self.n.bit_length()
        self.in_warps = arena.device.arch == "cuda" and depth > 1
        self.lines = columns[:3].T.tolist()
        table = arena.records(self.n)
        self.kind, self.stage, self.level, self.target, self.most = [table.ints(column) for column in columns]
        self.masks = arena.own_array(depth)
        self.counters = Notes(arena, ti.i32, own=True)
        self.line, self.turn = self.counters.reserve(1), self.counters.reserve(depth)

    def add(self, body: tuple, of: tuple, level: int, is_masked: bool, lines: list) -> None:
        """Append the lines of a list to others."""
        for item in body:
            kind = item.__class__
            if kind is tuple:
                self.add(item, of, level, is_masked, lines)
            elif kind is Within:
                self.add(item.body, (*of, item.of), level, is_masked, lines)
            elif kind is Set:
                self.set_register(item.name, item.value, level, lines)
            elif kind is Repeat:
                self.add_repeat(item, of, level + 1, is_masked or item.by_world, lines)
            else:
                kind = TOGETHER if is_in_parts(item, self.arena) else TAKE
                lines.append((kind, self.number(item, of), level, 0, 0))
                if is_masked:
                    self.masked.add(lines[-1][1])

    def add_repeat(self, item: Repeat, of: tuple, level: int, is_masked: bool, lines: list) -> None:
        """Append the lines of a repetition."""
        at = len(lines)
        lines.append(None)
        names = {one.name for one in sets_of(item.body) if not self.has_already(one.name, one.value)}
        before = {name: self.known.get(name) for name in names}
        if item.at_most > 1:
            self.known = {name: value for name, value in self.known.items() if name not in names}
        self.add(item.body, of, level, is_masked, lines)
        where, wanted = self.number(item.where, of), self.number(item.wanted, of)
        (self.of_worlds if item.by_world else self.of_blocks).update({where, wanted})
        if item.at_most > 1:
            lines.append((LEAVE, wanted, level, at + 1, item.at_most))
        forks = item.together and self.arena.crew is not None
        lines[at] = (_FORK if forks else ENTER, where, level, len(lines), 0)
        lines += [(_JOIN, NOBODY, level - 1, 0, 0)] * forks
        for name in sorted(names):
            if item.by_world and before[name] not in (None, self.known.get(name)):
                self.set_register(name, before[name], level - 1, lines)
            elif before[name] != self.known.get(name):
                self.known.pop(name, None)

    def set_register(self, name: str, value: int, level: int, lines: list) -> None:
        """Append the line that sets a register, unless it is sure to have that value already."""
        if self.has_already(name, value):
            return
        lines.append((_SET, NOBODY, level, self.registers.names.index(name), value))
        self.known[name] = value

    def has_already(self, name: str, value: int) -> bool:
        """Whether a register that lists alone set has a value where the list is."""
        return name in self.registers.zeros and self.known.get(name) == value

    def number(self, function: Callable | None, of: tuple) -> int:
        """Number of a stage or condition."""
        if function is None:
            return NOBODY
        place = self.places.setdefault((function, of), len(self.stages))
        if place == len(self.stages):
            self.stages.append(StageOf(function, of))
        return place

    def renumber(self, lines: list) -> None:
        """Let stages that most repetitions hold, and so are taken most often, come first, where they are found first."""
        deepest = [0] * len(self.stages)
        for _, stage, level, *_ in lines:
            if stage != NOBODY:
                deepest[stage] = max(deepest[stage], level)
        order = sorted(range(len(self.stages)), key=lambda stage: -deepest[stage])
        new = {stage: place for place, stage in enumerate(order)} | {NOBODY: NOBODY}
        self.stages = [self.stages[stage] for stage in order]
        self.places = {key: new[stage] for key, stage in self.places.items()}
        self.masked, self.of_worlds, self.of_blocks = (
            {new[stage] for stage in stages} for stages in (self.masked, self.of_worlds, self.of_blocks)
        )
        lines[:] = [(kind, new[stage], *rest) for kind, stage, *rest in lines]

    @property
    def n_groups(self) -> int:
        """Of stages, each a function of its own in compiled code: compilers take longer, the longer a function is."""
        return 1 if self.n_stages <= _ALONE else min(MOST_GROUPS, -(-self.n_stages // _GROUP))

    def group(self, n: int) -> range:
        """Stages of group n."""
        return range(self.group_end(n - 1), self.group_end(n))

    def group_end(self, n: int) -> int:
        """Number behind the last stage of group n."""
        return self.n_stages * (n + 1) // self.n_groups

    def take(self, k: int, owner, w, level) -> None:
        """Stage or condition k (inside kernels); a condition leaves its mask."""
        stage, zero = self.stages[k], self.arena.zero()
        for lead in stage.of:
            owner = lead(owner)
        if k in self.of_worlds:
            self.masks.store(w, level, ti.select(stage.function(owner, w), self.masks.load(w, level), zero))
        elif k in self.of_blocks:
            goes_on = ti.cast(stage.function(owner, w), self.arena.device.real)
            self.masks.store(w, level, self.masks.load(w, level) * goes_on)
        elif k in self.masked and self.arena.device.lanes > 1:
            with self.arena.writing(local(self.masks.load(w, level) != 0.0)):
                stage.function(owner, w)
        else:
            stage.function(owner, w)


def group(n: int) -> Callable:
    """The procedure for group n of stages, which hands later ones on: procedures form a chain (language/calls.py)."""

    @procedure
    def take(program: ti.template(), owner: ti.template(), stage: ti.i32, w: ti.i32, level: ti.i32):
        if stage < program.group_end(n):
            for k in ti.static(program.group(n)):
                if stage == k:
                    program.take(k, owner, w, level)
        else:
            if ti.static(n + 1 < program.n_groups):
                GROUPS[n + 1](program, owner, stage, w, level)

    return take


GROUPS = [group(n) for n in range(MOST_GROUPS)]


def tasks(program):
    """Blocks that take it, or threads of the only one (inside kernels)."""
    return number(program.arena.crew, "n") if program.is_shared else number(program.arena, "n_blocks")


def is_beside(program, w):
    """Whether a thread is not the first one of its world (inside kernels)."""
    return w > 0 if program.is_shared else False


@ti.func
def begin(program: ti.template(), w: ti.i32):
    """Go to the first line of a program."""
    program.counters.store(w, program.line, 0)
    program.masks.store(w, 0, program.arena.zero() + 1.0)


@ti.func
def end_program(program: ti.template(), w: ti.i32):
    """Go behind the last line of a program."""
    program.counters.store(w, program.line, program.n)


@ti.func
def run(program: ti.template(), owner: ti.template(), w: ti.i32):
    """Take the stages of a program that has begun.

    Args:
        owner: of the stages.
    """
    if ti.static(program.is_shared):
        _run_together(program, owner, w)
    else:
        _run_alone(program, owner, w)


@ti.func
def _run_alone(program: ti.template(), owner: ti.template(), w: ti.i32):
    line = program.counters.load(w, program.line)
    while line < program.n:
        if ti.static(program.in_warps):
            beside = threads_beside()
            if is_first(beside, line, program.n_bits) != 0:
                line = take_line(program, owner, w, line)
            wait_for(beside)
        else:
            line = take_line(program, owner, w, line)
    program.counters.store(w, program.line, line)  # without it an affine step takes 14 % longer


@ti.func
def _run_together(program: ti.template(), owner: ti.template(), w: ti.i32):
    """The first thread of a world takes all lines; each other one waits for stages that it can take parts of."""
    crew = program.arena.crew
    line, is_open = 0, False
    if w == 0:
        line = program.counters.load(w, program.line)
    else:
        line = wait_for_stage(crew, w, program.n)
    while line < program.n:
        found, has, kind = line, True, program.kind.at(line)
        if (kind == TOGETHER or kind == _FORK) and w == 0 and not is_open:
            open_to_crew(crew, line)
            is_open = True
        if kind == TOGETHER:
            has = has_part(crew, w)
        elif kind == _FORK:
            take_all_items(crew, w)
            program.masks.store(w, program.level.at(line) - 1, program.arena.zero() + 1.0)
        elif kind == _JOIN:
            has = False
        if has:
            found = take_line(program, owner, w, line)
        elif w == 0:
            close_stage(crew)
            is_open = False
            found = line + 1
        else:
            leave_stage(crew)
            found = wait_for_stage(crew, w, program.n)
        line = found
    if w == 0:
        program.counters.store(w, program.line, line)


@ti.func
def take_line(program: ti.template(), owner: ti.template(), w: ti.i32, line: ti.i32):
    """Take one line; gives the line after it."""
    kind = program.kind.at(line)
    level = program.level.at(line)
    stage = program.stage.at(line)
    if kind == ENTER or kind == _FORK:
        program.masks.store(w, level, program.masks.load(w, level - 1))
    if ti.static(program.n_groups == 1):
        for k in ti.static(range(program.n_stages)):
            if stage == k:
                program.take(k, owner, w, level)
    else:
        if stage >= 0:
            GROUPS[0](program, owner, stage, w, level)
    return next_line(program, w, line, kind, level)


@ti.func
def next_line(program: ti.template(), w: ti.i32, line: ti.i32, kind: ti.i32, level: ti.i32):
    """The line after this one: where repetitions begin and end, that depends on who wants them.

    One that threads take together stays the same until no part is left.
    """
    found = ti.select(kind == TOGETHER, line, line + 1)
    if kind == ENTER or kind == _FORK:
        program.counters.store(w, program.turn + level, 0)
        if not any_lane(program.masks.load(w, level) != 0.0):
            found = program.target.at(line)
    elif kind == _SET:
        if ti.static(program.sets):
            program.registers.notes.store(w, program.target.at(line), program.most.at(line))
    elif kind == LEAVE:
        turn = program.counters.load(w, program.turn + level) + 1
        program.counters.store(w, program.turn + level, turn)
        if turn < program.most.at(line) and any_lane(program.masks.load(w, level) != 0.0):
            found = program.target.at(line)
    return found
