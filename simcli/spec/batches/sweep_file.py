"""A sweep file to the structures that it names: scenes, and the overrides that make each variant of them."""

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from simcli.errors import Fault, SceneError, Where
from simcli.spec.base.fault_list import Faults, did_you_mean, in_order
from simcli.spec.base.nodes import Mark, PathStep, TableNode, locate, parse_path, plain
from simcli.spec.document.overrides import (
    ADDED_MEASURE,
    SWEEP,
    VARY,
    VARY_TABLE,
    Override,
    overridden_path,
    shadowed,
)
from simcli.spec.document.resolved_yaml import flow_text
from simcli.spec.document.scene_file import Document
from simcli.spec.document.vary_option import spread_values
from simcli.spec.faults.validate import report_errors
from simcli.spec.lookup.keys import SWEEP_ROOT
from simcli.spec.schema.sweep import OF_SCENE, OWN_COLUMNS, SweepSpec, is_own_column


def renamed(override: Override | str, rename: Callable[[str], str]) -> Override | str:
    """An override with another name for the file that it reads samples from; itself if it reads none.

    Args:
        override: of the command line.
        rename: name of a file to another.
    """
    if not isinstance(override, Override) or override.option not in (VARY, VARY_TABLE):
        return override
    if override.option == VARY_TABLE:
        return override._replace(text=rename(override.text))
    key, _, text = override.text.partition("=")
    if "from" not in text:
        return override
    data = plain(spread_values(text, Mark(VARY, 1, 1, 1), Faults()))
    earlier = data.get("from") if isinstance(data, dict) else None
    if not isinstance(earlier, dict) or not isinstance(earlier.get("file"), str):
        return override
    data["from"] = {**earlier, "file": rename(earlier["file"])}
    return override._replace(text=f"{key}={flow_text(data)}")


MOST_STRUCTURES = 10_000  # each is a scene to read, and a batch of its own
_SCENE = OF_SCENE  # the choice between scenes, and the column of the table
_VARIED = "batch.vary."


@dataclass(frozen=True)
class Structure:
    """One combination of choices.

    Attributes:
        scene: file.
        labels: (choice, value or name), that of the scene first if there are several.
        sets: overrides that make it.
        places: path of each of them in the sweep file.
    """

    scene: Path
    labels: tuple[tuple[str, object], ...] = ()
    sets: tuple[Override, ...] = ()
    places: tuple[tuple[PathStep, ...], ...] = ()

    @property
    def text(self) -> str:
        """The choices in words."""
        return ", ".join(f"{name} = {value}" for name, value in self.labels)


@dataclass(frozen=True)
class Sweep:
    """A sweep file that has been read.

    Attributes:
        document: its text.
        spec: its meaning.
        structures: the product of its choices, in the order of the table.
    """

    document: Document
    spec: SweepSpec
    structures: tuple[Structure, ...]


def is_sweep(document: Document) -> bool:
    """Whether a file is a sweep, and no scene."""
    return document.root.get(SWEEP_ROOT) is not None and document.root.get("simcli") is None


def read_sweep(document: Document) -> Sweep:
    """Give a sweep file its meaning; its scenes are not read yet.

    Raises:
        SceneError: with all its faults.
    """
    faults = Faults()
    data = {key: value for key, value in plain(document.root).items() if value is not None}
    spec, found = None, []
    try:
        spec = SweepSpec.model_validate(data)
    except ValidationError as error:
        report_errors(error, document.root, (SWEEP_ROOT,), faults)
    if spec is not None:
        found = _structures(document, spec, faults)
    if faults.errors:
        raise SceneError(in_order(faults.found), document)
    return Sweep(document, spec, tuple(found))


def _structures(document: Document, spec: SweepSpec, faults: Faults) -> list[Structure]:
    """The product of scenes and choices, less what `exclude` and `only` leave out."""
    scenes = {name: _file(document, spec, name, faults) for name in spec.scene}
    common = [NO_VERDICTS, *_laid(document, spec.set, ("set",), faults), *_batch(document, spec, faults)]
    options = {name: _options(document, name, choice, faults) for name, choice in spec.choices.items()}
    _check_names(document, spec, faults)
    names = {_SCENE: list(spec.scene)} | {name: [label for label, _ in some] for name, some in options.items()}
    _check_combinations(document, spec, names, faults)
    count = len(scenes)
    for some in options.values():
        count *= len(some)
    if count > MOST_STRUCTURES:
        faults.add(
            "SC418",
            f"{count} combinations of choices",
            _at(document, "choices"),
            f"the limit is {MOST_STRUCTURES}; "
            "numbers vary within a batch: write them below `vary`, as {params.k: {grid: [1, 2, 3]}}",
        )
        return []
    found = []
    for combination in itertools.product(scenes, *options.values()):
        scene, chosen = combination[0], dict(zip(options, combination[1:], strict=True))
        labels = {_SCENE: scene} | {name: label for name, (label, _) in chosen.items()}
        if not _is_wanted(spec, labels):
            continue
        laid = [*common, *(one for _, sets in chosen.values() for one in sets)]
        shown = tuple((name, value) for name, value in labels.items() if name != _SCENE or len(scenes) > 1)
        found.append(Structure(scenes[scene], shown, tuple(one for one, _ in laid), tuple(at for _, at in laid)))
    if not found and not faults.errors:
        where = _at(document, "only" if spec.only else "exclude")
        faults.add("SC205", "no combination is left", where, "leave some of them")
    _check_effect(document, found, faults)
    return found


def _check_effect(document: Document, structures: Sequence[Structure], faults: Faults) -> None:
    """Every value below `set` has an effect in some structure: no later one, and no spread, takes its path in all.

    A choice without effect makes a case twice, which is refused where cases are named.
    """
    hidden: dict[tuple[PathStep, ...], str] = {}
    seen: set[tuple[PathStep, ...]] = set()
    for one in structures:
        paths = [overridden_path(laid) for laid in one.sets]
        spread = [path for path, laid in zip(paths, one.sets, strict=True) if laid.option == VARY]
        for index, (laid, place) in enumerate(zip(one.sets, one.places, strict=True)):
            if laid.option != SWEEP or place[:1] != ("set",) or place in seen:
                continue
            by = shadowed(paths[index], [*paths[index + 1 :], *spread])
            if by is None:
                seen.add(place)
            else:
                hidden[place] = by
    for place, by in hidden.items():
        if place not in seen:
            message = f"this has no effect, because `{by}` is set or varied in every case too"
            faults.add("SC207", message, _at(document, *place), "keep one of them")


def _file(document: Document, spec: SweepSpec, name: str, faults: Faults) -> Path:
    """The scene file that a sweep names, relative to its own folder."""
    path = Path(document.path).parent / spec.scene[name]
    if not path.is_file():
        at = [_SCENE, name] if name else [_SCENE]
        if name and not isinstance(document.root.get(_SCENE), TableNode):  # an entry of a list
            at = [_SCENE, list(spec.scene).index(name)]
        folder = path.parent
        siblings = sorted(entry.name for entry in folder.iterdir())[:500] if folder.is_dir() else []
        faults.add(
            "SC110",
            f"there is no file `{spec.scene[name]}`",
            locate(document.root, at),
            did_you_mean(path.name, siblings, "there"),
        )
    return path


_Laid = tuple[Override, tuple[PathStep, ...]]
# A sweep gives numbers, and judges none: what a scene expects of itself need not hold of its variants.
NO_VERDICTS: _Laid = (Override(SWEEP, "[]", "expect"), ())


def _batch(document: Document, spec: SweepSpec, faults: Faults) -> list[_Laid]:
    """What a sweep says of the batch and of measures."""
    numbers = {name: value for name in ("worlds", "seed") if (value := getattr(spec, name)) is not None}
    found = [(Override(SWEEP, str(value), f"batch.{name}"), (name,)) for name, value in numbers.items()]
    if spec.table is not None:
        found.append((Override(VARY_TABLE, _beside(document, spec.table.file)), ("table", "file")))
        found += [
            (Override(SWEEP, flow_text(value), f"batch.table.{name}"), ("table", name))
            for name in ("columns", "sha256")
            if (value := getattr(spec.table, name)) is not None
        ]
    found += _laid(document, {_VARIED + path: value for path, value in spec.vary.items()}, ("vary",), faults)
    found += [
        (Override(ADDED_MEASURE, flow_text(value), f"measure.{name}"), ("measure", name))
        for name, value in spec.measure.items()
    ]
    return found


def _options(document: Document, name: str, choice: list | dict, faults: Faults) -> list[tuple[object, list[_Laid]]]:
    """Label of each value of a choice, and what it sets."""
    at = ("choices", name)
    if isinstance(choice, Mapping):
        return [(label, _laid(document, sets, (*at, label), faults)) for label, sets in choice.items()]
    labels = [value if isinstance(value, str | int | float | bool) else flow_text(value) for value in choice]
    for index, label in enumerate(labels):
        if any(label == other and type(label) is type(other) for other in labels[:index]):
            faults.add("SC102", f"`{label}` is written twice in the choice `{name}`", _at(document, *at, index), "keep one")
    return [
        (label, _laid(document, {name: value}, (*at, index), faults, on_value=True))
        for index, (label, value) in enumerate(zip(labels, choice, strict=True))
    ]


def _laid(
    document: Document, sets: Mapping[str, object], at: tuple[PathStep, ...], faults: Faults, on_value: bool = False
) -> list[_Laid]:
    """Overrides out of paths and values, with their places.

    Args:
        document: the sweep.
        sets: dotted path to value.
        at: where they stand; `on_value`: the one value itself.
        faults: collects.
        on_value: whether `at` is the place of the value, rather than of the mapping that holds it.
    """
    found = []
    for path, value in sets.items():
        place = at if on_value else (*at, path.removeprefix(_VARIED) if at == ("vary",) else path)
        if path.startswith(_VARIED) and len(path) > len(_VARIED):
            varied = Override(VARY, f"{path.removeprefix(_VARIED)}={flow_text(value)}")
            found.append((renamed(varied, lambda file: _beside(document, file)), place))
        elif parse_path(path) is None or path.partition(".")[0] == "include":
            hint = "write a path of the scene, as solver.dt, or a name with what each choice sets"
            faults.add("SC113", f"`{path[:60]}` is not a path of a value", _at(document, *place), hint)
        else:
            found.append((Override(SWEEP, flow_text(value), path), place))
    return found


def _beside(document: Document, file: str) -> str:
    """A file that a sweep names, relative to its own folder."""
    return os.path.join(os.path.dirname(document.path), file)


def _at(document: Document, *steps: PathStep) -> Where:
    return locate(document.root, steps)


def _is_wanted(spec: SweepSpec, labels: Mapping[str, object]) -> bool:
    """Whether a combination is neither excluded nor missing among those that alone are wanted."""
    if any(_fits(one, labels) for one in spec.exclude):
        return False
    return not spec.only or any(_fits(one, labels) for one in spec.only)


def _fits(combination: Mapping[str, object], labels: Mapping[str, object]) -> bool:
    return all(labels.get(name) in _several(value) for name, value in combination.items())


def _several(value: object) -> list:
    return value if isinstance(value, list) else [value]


def _check_names(document: Document, spec: SweepSpec, faults: Faults) -> None:
    """No choice is called as a column that the table has of its own, which it would take the place of."""
    for name in filter(is_own_column, spec.choices):
        faults.add(
            "SC206",
            f"`{name}` cannot name a choice: the table of the sweep has a column of that name",
            locate(document.root, ("choices", name), on_key=True),
            f"write another name, with what each of its choices sets; {', '.join((*OWN_COLUMNS, OF_SCENE))} and "
            "measure.NAME are taken",
        )


def _check_combinations(document: Document, spec: SweepSpec, names: Mapping[str, Sequence[object]], faults: Faults) -> None:
    """Every name in `exclude` and `only` is that of a choice, every value one of its values."""
    entries = [
        (_at(document, section, index, name), name, _several(value))
        for section in ("exclude", "only")
        for index, combination in enumerate(getattr(spec, section))
        for name, value in combination.items()
    ]
    for where, name, values in entries:
        if name not in names:
            faults.add("SC301", f"there is no choice `{name}`", where, did_you_mean(name, names, "choices"))
            continue
        known = [str(label) for label in names[name]]
        for one in (one for one in values if one not in names[name]):
            hint = did_you_mean(str(one), known, "values")
            faults.add("SC206", f"`{one}` is no value of the choice `{name}`", where, hint)


def moved_paths(fault: Fault, structure: Structure, document: Document) -> Fault:
    """A fault of a scene with the overrides of a structure, at the place in the sweep file where the override stands.

    Args:
        fault: of the scene.
        structure: whose overrides it was read with.
        document: the sweep file.
    """
    where = fault.where
    if where is None or where.file not in (SWEEP, VARY, VARY_TABLE, ADDED_MEASURE):
        return fault
    pairs = zip(structure.sets, structure.places, strict=True)
    of_option = [(one, place) for one, place in pairs if one.option == where.file]
    if not 0 < where.line <= len(of_option):
        return fault
    override, place = of_option[where.line - 1]
    inner = (parse_path(where.path) or ())[len(parse_path(override.path) or ()) :] if override.path else ()
    there = locate(document.root, (*place, *inner), on_key=fault.code == "SC204")
    return Fault(fault.code, fault.message, there, fault.hint, fault.severity)
