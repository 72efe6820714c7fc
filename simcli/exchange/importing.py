"""A file of another format as a scene: what `simcli import`, and every command that takes a scene, goes through."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simcli import __version__
from simcli.errors import FileError, UsageError
from simcli.exchange.scene_text import scene_text
from simcli.exchange.source import lumping
from simcli.exchange.source.beginning import circle_of_gears, set_starts
from simcli.exchange.source.import_report import ConvertedModel, ImportReport
from simcli.exchange.source.layers import part_neighbours
from simcli.exchange.source.lumping import lump
from simcli.exchange.source.mechanism import MODEL_LAYER, SourceJoint, SourceLink, SourceModel, hide_collisions, lost_looks
from simcli.exchange.source.meshes import MeshFiles
from simcli.exchange.source.xml_reader import XmlElement, read_xml, refuse_macros
from simcli.spec.document.overrides import Override
from simcli.spec.document.scene_file import Document, HeldScene, ReadRun
from simcli.spec.loading import load_document, load_held
from simcli.spec.lookup.structure import WORLD_NAME

SUFFIXES = (".urdf", ".xml", ".mjcf", ".sdf", ".world", ".usd", ".usda", ".usdc", ".usdz")
_FORMATS = {"robot": ("URDF", ".urdf"), "mujoco": ("MJCF", ".xml"), "sdf": ("SDF", ".sdf")}  # by their roots
_ROOTS = {".urdf": "robot", ".mjcf": "mujoco", ".sdf": "sdf", ".world": "sdf"}
PACKAGE_PATH, FIX_INERTIA = "--package-path", "--fix-inertia"
ModelBase = Literal["fixed", "floating"]


@dataclass(frozen=True)
class ImportOptions:
    """What may be asked of an import.

    Attributes:
        base: whether the first link of a URDF file is fixed to the world or free; None: as the format has it.
        search: folders of packages of meshes.
        folder: that the scene has its meshes in, relative to itself.
        fix_inertia: whether moments that no body has are replaced by near ones.
        self_collision: whether links of a URDF model touch each other; those that a joint connects never do.
    """

    base: ModelBase | None = None
    search: Sequence[Path] = ()
    folder: str = "meshes"
    fix_inertia: bool = False
    self_collision: bool = False


def load_scene(path: Path, sets: Sequence[str | Override] = (), read_run: ReadRun | None = None) -> Document:
    """Read a scene file, or a model of another format as the scene that `simcli import` makes of it.

    Args:
        path: of either.
        sets: as of `load_document`; those of `import_overrides` are how a model is read.
        read_run: as of `load_document`.

    Returns:
        The document; `document.cache["imported"]` is the report of a model.

    Raises:
        SceneError: with all faults of syntax.
        FileError: as of `import_model`.
        UsageError: as of `import_model`.
    """
    chosen = [one for one in sets if isinstance(one, Override) and one.option in (PACKAGE_PATH, FIX_INERTIA)]
    sets = [one for one in sets if one not in chosen]
    if not is_foreign(path):
        return load_document(path, sets, read_run)
    folders = tuple(Path(one.text) for one in chosen if one.option == PACKAGE_PATH)
    imported = import_model(path, ImportOptions(search=folders, fix_inertia=any(o.option == FIX_INERTIA for o in chosen)))
    held = HeldScene(((f"{path.stem}.yaml", imported.text),), imported.files, (), None)
    document = load_held(held, str(path), sets, read_run)
    document.cache["imported"] = imported.report
    return document


def import_overrides(path: Path, package_path: Sequence[Path], fix_inertia: bool) -> list[Override]:
    """How a command that takes a model in place of a scene is asked to read it, to be given with its overrides.

    Raises:
        UsageError: options for a file that is no model.
    """
    found = [Override(PACKAGE_PATH, str(folder)) for folder in package_path]
    found += [Override(FIX_INERTIA, "")] if fix_inertia else []
    if found and not is_foreign(path):
        raise UsageError(f"{found[0].option} is for models ({', '.join(SUFFIXES)}), and {path} is none")
    return found


def is_foreign(path: Path) -> bool:
    """Whether a file has a suffix of a format that can be imported."""
    return path.suffix.lower() in SUFFIXES


def import_model(path: Path, options: ImportOptions | None = None) -> ConvertedModel:
    """Make a scene of a URDF, MJCF, SDF or USD file.

    Raises:
        FileError: the file cannot be read, is of another format, or holds what no scene can say, with its line.
        UsageError: MuJoCo or usd-core is missing, or an option is not for the format.
    """
    options = options or ImportOptions()
    report, meshes = ImportReport(str(path)), MeshFiles(path, options.search, options.folder)
    mechanism = _read(path, options, meshes, report)
    if list(mechanism.links) in ([], [WORLD_NAME]) and not (mechanism.links and mechanism.links[WORLD_NAME].shapes):
        lost = [entry.why for entry in report.entries if entry.fate == "dropped" and entry.why.startswith("mesh:")]
        first = lost[0].removeprefix("mesh: ") if lost else ""
        cause = f"{len(lost)} of its meshes cannot be taken, the first because: {first}" if lost else "give another file"
        raise FileError(f"{path}:1: nothing in it has mass or a shape, of which a scene could be made: {cause}")
    return ConvertedModel(scene_text(mechanism, report, __version__), meshes.files, report)


def _read(path: Path, options: ImportOptions, meshes: MeshFiles, report: ImportReport) -> SourceModel:
    if path.suffix.lower().startswith(".usd"):
        from simcli.exchange.usd.usd_file import read_usd  # only for such a file: scenes pass here, too

        return _completed(path, read_usd(path, meshes, report), options, options.base or "floating", report)
    root = read_xml(path)
    _refuse_other_format(path, root)
    if root.tag != "mujoco":
        refuse_macros(path, root)
    if root.tag == "robot":
        from simcli.exchange.urdf.urdf_file import read_urdf

        mechanism = read_urdf(path, root, meshes, report)
        _group(mechanism, MODEL_LAYER)
        return _completed(path, mechanism, options, options.base or "fixed", report)
    if root.tag == "mujoco":
        from simcli.exchange.mjcf.mjcf_file import read_mjcf

        _refuse_choices(options)
        return read_mjcf(path, root, meshes, report)
    if root.tag == "sdf":
        from simcli.exchange.sdf.sdf_file import read_sdf

        mechanism = read_sdf(path, root, meshes, report)
        return _completed(path, mechanism, options, options.base or "floating", report)
    known = "models are <robot>, that is URDF, <mujoco>, that is MJCF, and <sdf>"
    raise FileError(f"{path}:{root.line}: the root is <{root.tag}>; {known}")


def _completed(
    path: Path, mechanism: SourceModel, options: ImportOptions, base: ModelBase, report: ImportReport
) -> SourceModel:
    """A mechanism with what its format leaves to the reader: what holds it, links without mass, where its joints begin."""
    if circle := circle_of_gears(mechanism):
        names = ", ".join(f"`{joint.name}`" for joint in circle)
        raise FileError(f"{path}:{circle[0].line}: the joints {names} mimic each other in a circle: let one of them lead")
    if options.self_collision:
        _group(mechanism, "")
    _hold_base(mechanism, base)
    _mend_inertias(path, mechanism, options, report)
    lump(mechanism, report)
    part_neighbours(mechanism)
    _refuse_loose_points(path, mechanism)
    for link in mechanism.links.values():
        hide_collisions(link)
    for shape, words in (one for link in mechanism.links.values() for one in lost_looks(link)):
        report.amend("visual", shape.seen_as, shape.line, words)
    set_starts(mechanism, lambda joint, _place, kind, words: report.amend(kind, joint.name, joint.line, words))
    return mechanism


def _group(mechanism: SourceModel, group: str) -> None:
    """Put all shapes into one group of those that do not touch each other, or into none."""
    for link in mechanism.links.values():
        for shape in link.shapes:
            shape.group = group


def _refuse_loose_points(path: Path, mechanism: SourceModel) -> None:
    """Refuse links without mass that nothing holds, and that one joint at most leaves to no force."""
    for link in mechanism.links.values():
        joints = [joint for joint in mechanism.joints.values() if link.name in (joint.parent, joint.child)]
        if link.name != WORLD_NAME and not link.has_mass and mechanism.holder(link.name) is None and len(joints) < 2:
            words = "has no mass, and nothing holds it: give it mass, or add --base fixed"
            raise FileError(f"{_place(path, link)}: link `{link.name}` {words}")


def _place(path: Path, link: SourceLink) -> str:
    """Where a link stands: a line, or the path of its prim."""
    return f"{path}:{link.line}" if link.line else f"{path}: {link.file}"


def _refuse_other_format(path: Path, root: XmlElement) -> None:
    """Refuse a file whose suffix names one format and whose root another; `.xml` may be any."""
    suffix = path.suffix.lower()
    if root.tag in _FORMATS and suffix in _ROOTS and _ROOTS[suffix] != root.tag:
        name, right = _FORMATS[root.tag]
        raise FileError(
            f"{path}:{root.line}: the root is <{root.tag}>, that is {name}, but the file is called {suffix}: "
            f"call it {path.stem}{right}"
        )


def _refuse_choices(options: ImportOptions) -> None:
    """Refuse what an MJCF file says itself."""
    given = {"--base": options.base, "--fix-inertia": options.fix_inertia, "--self-collision": options.self_collision}
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} is not for MJCF, where joints, `contype` and `balanceinertia` say what it would")


def _hold_base(mechanism: SourceModel, base: ModelBase) -> None:
    """Fix the links that no joint holds to the world, where they are, or leave them free."""
    if base == "floating":
        return
    for name in [name for name in mechanism.links if name != WORLD_NAME and mechanism.holder(name) is None]:
        joint = f"{name}_fixed"
        while joint in mechanism.joints:
            joint += "_"
        held = {joint: SourceJoint(joint, 0, "fixed", WORLD_NAME, name, mechanism.links[name].frame)}
        mechanism.joints = held | mechanism.joints


def _mend_inertias(path: Path, mechanism: SourceModel, options: ImportOptions, report: ImportReport) -> None:
    """Refuse inertias that no body has, all at once with their numbers, or replace them."""
    wrong = [(link, words) for link in mechanism.links.values() if (words := lumping.fault_of(link))]
    left = []
    for link, words in wrong:
        done = lumping.mend(link) if options.fix_inertia and link.inertia is not None else ""
        if done:
            report.amend("inertial", link.name, link.line, done)
        else:
            left.append(f"{_place(path, link)}: link `{link.name}`: {words}")
    if left:
        hint = "fix the file" if options.fix_inertia else "fix the file, or add --fix-inertia to take near ones"
        raise FileError("\n".join([*left[:20], f"{len(left)} of the inertias are impossible: {hint}"]))
