"""A USD file as an open stage: all layers below the folder of the model, no circles, no more prims than a scene could have.

Layers are opened and followed one by one before anything is composed, because composing opens whatever a layer names, and
references of references can be 2^n prims. What USD composes is bounded by the count here: each prim that a layer holds, and
again what each of its arcs (reference, payload, inherit, specialize, variant) leads to.

Source: OpenUSD, glossary: composition arcs, layer stack, instancing, usdz package. No deviation.
"""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simcli.errors import FileError, from_extra
from simcli.exchange.source.meshes import MeshFiles, resolved_path
from simcli.spec.base.text import MAX_BYTES

USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
_MARKS = (b"#usda", b"PXR-USDC", b"PK\x03\x04")  # how files begin: text, crate, package
_MOST_PRIMS = 100_000  # of all instances
_MOST_LAYERS = 1000
_MOST_MEMORY = 2**32  # [B] beside what the process has: a crate of 64 MiB needs less
_DEEPEST = 100  # prims within each other, and arcs that follow each other


@contextmanager
def usd_as_guest(path: Path) -> Iterator[None]:
    """USD is there, prints no warnings, since the report tells what is wrong, and takes no more memory than files need.

    Args:
        path: of the file that is read meanwhile.

    Raises:
        UsageError: usd-core is not installed.
        FileError: USD finds that the file is damaged.
    """
    with from_extra("USD files need usd-core", "usd"):
        from pxr import Tf, UsdUtils
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        with _bounded_memory():
            yield
    except Tf.ErrorException as error:
        raise FileError(f"{path}: cannot be read as USD: {_first_line(error)}") from None
    except (UnicodeDecodeError, MemoryError) as error:
        raise FileError(f"{path}: cannot be read as USD: {type(error).__name__}") from None
    finally:
        delegate.TakeUncoalescedDiagnostics()


@contextmanager
def _bounded_memory() -> Iterator[None]:
    """Let a crate that claims arrays of terabytes fail, which USD reports; without a bound the system ends the process."""
    try:
        import resource

        status = Path("/proc/self/status").read_text()
        held = int(status.partition("VmData:")[2].split()[0]) * 1024
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    except (ImportError, OSError, ValueError, IndexError):  # another system
        yield
        return
    most = held + _MOST_MEMORY
    is_bounded = soft != resource.RLIM_INFINITY and soft <= most
    resource.setrlimit(resource.RLIMIT_DATA, (soft if is_bounded else most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def open_stage(path: Path, meshes: MeshFiles):
    """The stage of a file.

    Args:
        path: of the file.
        meshes: knows the folders that may be read.

    Raises:
        FileError: it is no USD, damaged, too large, goes in a circle, or names a layer that is not there or lies outside.
    """
    from pxr import Sdf, Usd

    files = _LayerFiles(path, meshes)
    root = files.root()
    files.count(root, Sdf.Path("/"), (), is_jump=False)
    stage = Usd.Stage.Open(root, None)
    if faults := stage.GetCompositionErrors():
        raise FileError(f"{path}: cannot be composed: {str(faults[0])[:300]}")
    return stage


def _first_line(error: Exception) -> str:
    try:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    except UnicodeDecodeError:  # of a message that quotes the file
        lines = []
    return (lines[0].rpartition(" : ")[2] if lines else "damaged").strip("'")[:300]


class _LayerFiles:
    """The layers of one file, opened as they are reached.

    Args:
        path: of the root.
        meshes: knows the folders that may be read.
    """

    def __init__(self, path: Path, meshes: MeshFiles):
        self.path, self.roots = path, (meshes.home, *meshes.search)
        self._layers: dict[str, object] = {}  # by identifier: what is open stays open, and is what gets composed
        self._stacks: dict[str, list] = {}
        self._counts: dict[tuple, int] = {}

    def root(self):
        """The root layer; of a package the one that stands first in it."""
        name = str(self.path.resolve())
        self._check_bytes(Path(name), str(self.path))
        if self.path.suffix.lower() == ".usdz":
            name = self._inner(Path(name), str(self.path))
        return self._open(name, str(self.path))

    def count(self, layer, path, above: tuple, is_jump: bool) -> int:
        """How many prims there are at and below a path, at most.

        Args:
            layer: root of a layer stack.
            path: of the prim in it.
            above: what is being counted.
            is_jump: whether an arc leads here, so that arcs of the prims above it count, too.
        """
        key = (layer.identifier, path, is_jump)
        if key in self._counts:
            return self._counts[key]
        if key in above:
            raise FileError(
                f"{self.path}: <{path}> of {self._shown(layer)} is a part of itself: its references go in a circle"
            )
        if len(above) > _DEEPEST or path.pathElementCount > _DEEPEST:
            raise FileError(f"{self.path}: prims and references within each other to a depth of more than {_DEEPEST}")
        above, total = (*above, key), 1
        specs = [(one, spec) for one in self._stack(layer) for spec in _opinions(one, path)]
        children = [child for _, spec in specs for child in spec.nameChildren]
        if None in children:
            raise FileError(f"{self.path}: cannot be read as USD: {self._shown(layer)} lists prims that it does not hold")
        for name in dict.fromkeys(child.name for child in children):
            total += self.count(layer, path.AppendChild(name), above, is_jump=False)
        for root, to in self._targets(layer, path, specs, is_jump):
            total += self.count(root, to, above, is_jump=True)
        if total > _MOST_PRIMS:
            raise FileError(f"{self.path}: has more than {_MOST_PRIMS} prims, instances of instances among them")
        self._counts[key] = total
        return total

    def _targets(self, layer, path, specs: list, is_jump: bool) -> Iterator[tuple]:
        """Where the arcs of a prim lead; of what an arc leads to, those of the prims above it, too."""
        for holder, spec in specs:
            yield from self._arcs(layer, holder, spec)
        above = path.GetParentPath()
        while is_jump and not above.isEmpty and not above.IsAbsoluteRootPath():
            for holder, spec in ((one, spec) for one in self._stack(layer) for spec in _opinions(one, above)):
                yield from ((root, path.ReplacePrefix(above, to)) for root, to in self._arcs(layer, holder, spec))
            above = above.GetParentPath()

    def _arcs(self, layer, holder, spec) -> Iterator[tuple]:
        """(root of a layer stack, path) of the arcs that one layer says of a prim."""
        if spec.HasInfo("clips"):
            raise FileError(f"{self.path}: <{spec.path}> of {self._shown(holder)} has value clips, which are not read")
        for arc in (*_listed(spec.referenceList), *_listed(spec.payloadList)):
            root = self._named(holder, arc.assetPath) if arc.assetPath else layer
            to = arc.primPath if not arc.primPath.isEmpty else _default_of(root)
            if to is not None:
                yield root, to.StripAllVariantSelections()
        for to in (*_listed(spec.inheritPathList), *_listed(spec.specializesList)):
            yield layer, to

    def _stack(self, layer) -> list:
        """A layer with the layers below it."""
        found = self._stacks.get(layer.identifier)
        if found is None:
            found = self._stacks[layer.identifier] = list(self._sublayers(layer, ()))
        return found

    def _sublayers(self, layer, above: tuple[str, ...]) -> Iterator:
        if layer.identifier in above:
            raise FileError(f"{self.path}: the sublayers of {self._shown(layer)} go in a circle")
        yield layer
        for name in layer.subLayerPaths:
            yield from self._sublayers(self._named(layer, name), (*above, layer.identifier))

    def _named(self, layer, asset: str):
        """The layer that another one names, which lies below the folders of the model."""
        from pxr import Ar, Sdf

        where = f"{self.path}: {self._shown(layer)} names `{asset[:100]}`"
        if asset.startswith("`"):
            raise FileError(f"{where}: a name that an expression makes, which is not read")
        anchored = Sdf.ComputeAssetPathRelativeToLayer(layer, asset)
        resolved = str(Ar.GetResolver().Resolve(anchored) or "")
        outer = Ar.SplitPackageRelativePathOuter(resolved or anchored)[0]
        found = None if "://" in asset else resolved_path(self.path.resolve().parent / outer)
        if found is None or not any(found.is_relative_to(root) for root in self.roots):
            raise FileError(
                f"{where}, which lies outside of the folder of the model: give a folder above it by --package-path"
            )
        if not resolved or not found.is_file():
            raise FileError(f"{where}, and there is no such file")
        self._check_bytes(found, where)
        if not Ar.IsPackageRelativePath(resolved) and found.suffix.lower() == ".usdz":
            resolved = self._inner(found, where)
        return self._open(resolved, where)

    def _open(self, name: str, where: str):
        from pxr import Sdf

        layer = Sdf.Layer.FindOrOpen(name)
        if layer is None:
            raise FileError(f"{where}: cannot be read as USD")
        if self._layers.setdefault(layer.identifier, layer) is layer and len(self._layers) > _MOST_LAYERS:
            raise FileError(f"{self.path}: has more than {_MOST_LAYERS} layers")
        return layer

    def _inner(self, path: Path, where: str) -> str:
        """The layer that stands first in a package."""
        from pxr import Ar

        try:
            with zipfile.ZipFile(path) as package:
                names = package.namelist()
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
            raise FileError(f"{where}: is no package of USD (.usdz)") from None
        if not names or Path(names[0]).suffix.lower() not in USD_SUFFIXES:
            raise FileError(f"{where}: its package does not begin with a layer of USD")
        return Ar.JoinPackageRelativePath([str(path), names[0]])

    def _check_bytes(self, path: Path, where: str) -> None:
        """Refuse a file that is too large, or that does not begin as files of USD do."""
        if path.suffix.lower() not in USD_SUFFIXES:
            raise FileError(f"{where}: a `{path.suffix}` file; layers are {', '.join(USD_SUFFIXES)}")
        try:
            if path.stat().st_size > MAX_BYTES:
                raise FileError(f"{where}: has more than {MAX_BYTES} bytes (64 MiB)")
            with path.open("rb") as stream:
                head = stream.read(8)
        except OSError as error:
            raise FileError(f"{where}: cannot be read: {error.strerror}") from None
        if not head.startswith(_MARKS):
            raise FileError(f"{where}: is no USD: it begins with {head!r}")

    def _shown(self, layer) -> str:
        """A layer in a message: relative to the model."""
        home = f"{self.path.resolve().parent}/"
        return layer.identifier.replace(home, "")


def _listed(editor) -> list:
    """All that a list of a prim names, whatever the way in which it is edited."""
    parts = (editor.explicitItems, editor.prependedItems, editor.appendedItems, editor.addedItems)
    return [one for part in parts for one in part]


def _opinions(layer, path) -> Iterator:
    """What a layer says of a prim: itself, and in each of its variants."""
    spec = layer.GetPrimAtPath(path)
    waiting = [spec] if spec is not None else []
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [variant.primSpec for some in one.variantSets.values() for variant in some.variants.values()]


def _default_of(layer):
    """The path of the prim that a layer gives to references that name none."""
    from pxr import Sdf

    return Sdf.Path(f"/{layer.defaultPrim}") if layer.defaultPrim and "/" not in layer.defaultPrim else None
