"""The sweep file: which scenes, in which variants, are run as many batches; and columns that its table has of its own."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from simcli.spec.schema.batch import TableSpec
from simcli.spec.values.quantities import REQUIRED, PositiveTime, Text, count, doc, refuse, spell
from simcli.spec.values.spec_model import SpecModel

CASE, STATUS, FAULT_CODE, REASON, TIME = "case", "status", "status.code", "status.reason", "status.time"
OWN_COLUMNS = (CASE, STATUS, FAULT_CODE, REASON, TIME)
OF_SCENE = "scene"  # which of several scenes
OF_MEASURE = "measure."  # what the name of a measure's column begins with


def is_own_column(name: str) -> bool:
    """Whether the table of a sweep may have such a column without a choice of that name."""
    return name in (*OWN_COLUMNS, OF_SCENE) or (name.startswith(OF_MEASURE) and name.count(".") == 1)


def _version(value: object) -> object:
    if type(value) is not int or value != 1:
        raise refuse("SC206", f"{spell(value)} is no version of the format that this program reads", "write sweep: 1")
    return value


def _scenes(value: object) -> object:
    """One file, a list of files, or files by the words that stand for them in the table."""
    if isinstance(value, str):
        return {"": value}
    if isinstance(value, list):
        if not value or not all(isinstance(one, str) for one in value):
            raise refuse("SC203", "`scene` must be a file, a list of files, or files by name", "as [arm.yaml, leg.yaml]")
        return dict(zip(_stems(value), value, strict=True))
    if not isinstance(value, dict):
        raise refuse("SC203", f"`scene` must be a file, not {spell(value)}", "as arm.yaml, or {short: a.yaml, long: b.yaml}")
    if not value:
        raise refuse("SC205", "`scene` names no file", "as {short: a.yaml, long: b.yaml}")
    return value


def _stems(files: list[str]) -> list[str]:
    """What stands for files in the table: their stems, where these differ."""
    from pathlib import PurePath

    stems = [PurePath(one).stem for one in files]
    found = stems if len(set(stems)) == len(stems) else files
    if len(set(found)) < len(found):
        twice = next(one for one in found if found.count(one) > 1)
        raise refuse("SC102", f"the scene `{twice}` is written twice", "keep one")
    return found


def _choice(value: object) -> object:
    """Values of one path; or by name what each choice sets."""
    if isinstance(value, list) and value:
        return value
    if isinstance(value, dict) and value:
        for name, sets in value.items():
            if not isinstance(sets, dict):
                raise refuse(
                    "SC203",
                    f"`{name}` must be a mapping of paths to values, not {spell(sets)}",
                    "as {soft: {params.k: 10}, stiff: {params.k: 100}}, or a list of values of one path",
                    name,
                )
        return value
    if isinstance(value, list | dict):
        raise refuse("SC205", "a choice of nothing", "write at least one value")
    raise refuse("SC203", f"a choice is a list of values, not {spell(value)}", f"write [{value}]")


def _combination(value: dict[str, Any]) -> dict[str, Any]:
    if not value:
        raise refuse("SC205", "a combination of nothing", "as {solver.type: maximal}")
    return value


_OBJECT = {"type": "object"}
Scenes = Annotated[dict[str, Text], BeforeValidator(_scenes), WithJsonSchema({"type": ["string", "array", "object"]})]
_Choice = Annotated[Any, BeforeValidator(_choice), WithJsonSchema({"type": ["array", "object"]})]
Combination = Annotated[dict[str, Any], AfterValidator(_combination), WithJsonSchema(_OBJECT)]
_Keep = Literal["all", "failed", "none"]


class SweepSpec(SpecModel):
    """A sweep: the product of its scenes and choices, each with its batch of worlds."""

    sweep: Annotated[int, BeforeValidator(_version), WithJsonSchema({"const": 1})] = doc(
        REQUIRED, "Version of the format", "", 1
    )
    scene: Scenes = doc(
        REQUIRED, "Scene file, from the folder of this one; a list, or by name what stands in the table", "", "arm.yaml"
    )
    set: dict[str, Any] = doc(dict, "Dotted path to value, in all cases", "", "{run.duration: 10 s}")
    choices: dict[str, _Choice] = doc(
        dict,
        "Dotted path to a list of values, or a name to what each choice sets; their product is run",
        "",
        "{solver.type: [generalized, maximal], spring: {soft: {params.k: 10}, stiff: {params.k: 100}}}",
    )
    exclude: tuple[Combination, ...] = doc(
        (),
        "Combinations that are left out, as choice to value or list of values",
        "",
        "[{solver.type: maximal, spring: stiff}]",
    )
    only: tuple[Combination, ...] = doc((), "Combinations that are run; the others are left out", "", "[{spring: soft}]")
    vary: dict[str, Any] = doc(
        dict, "What differs between worlds, beside `batch.vary` of the scene", "", "{joints.pin.damping: {uniform: [0, 1]}}"
    )
    table: TableSpec | None = doc(
        None, "A row per world, in place of the scene's batch; from the folder of this file", "", "samples.csv"
    )
    worlds: count(gt=0, le=16_777_216) | None = doc(None, "Worlds per grid point, instead of the scene's", "", 1000)
    seed: count(ge=0) | None = doc(None, "Seed, instead of the scene's", "", 7)
    measure: dict[str, Any] = doc(dict, "Measures, beside those of the scene", "", "{peak: {max_abs: joint.pin.q}}")
    keep: _Keep = doc("none", "Trajectories that stay, beside the measures of all cases: all, failed, none", "", "failed")
    time_limit: PositiveTime | None = doc(None, "Wall time that a case may take", "s", 600)
    max_worlds: count(gt=0) | None = doc(None, "Worlds that run as one batch, at most", "", 500)
