"""Models of other files in the place of the elements that include them."""

import os
from pathlib import Path

from simcli.errors import FileError
from simcli.exchange.meshes import LostMeshError, MeshFiles
from simcli.exchange.xml_reader import XmlElement, read_xml, refuse_macros

_MOST = 1000  # models that are included
_OWN = ("pose", "static")  # what an include says in place of the model
_CONFIG, _MODEL = "model.config", "model.sdf"


class Includes:
    """Puts models in the place of includes.

    Args:
        path: of the file that includes.
        meshes: finds files; only those below its folders are read.
    """

    def __init__(self, path: Path, meshes: MeshFiles):
        self.path, self.meshes = path, meshes
        self.count = 0

    def put(self, root: XmlElement, version: str, above: tuple[Path, ...] = ()) -> None:
        """Replace the includes of all models and worlds below an element.

        Args:
            root: changed in place.
            version: of its file.
            above: files that are being read.

        Raises:
            FileError: a file is not there, is no model, includes itself, or says what is not read; with the line.
        """
        for element in root.below():
            children = []
            for one in element.children:
                is_include = one.tag == "include" and element.tag in ("sdf", "world", "model")
                children.append(self._model(one, version, above) if is_include else one)
            element.children = children

    def _model(self, include: XmlElement, version: str, above: tuple[Path, ...]) -> XmlElement:
        where = f"{self.path.parent / include.file if include.file else self.path}:{include.line}"
        uri = include.child("uri").text if include.child("uri") is not None else ""
        self.count += 1
        if self.count > _MOST:
            raise FileError(f"{where}: more than {_MOST} models are included")
        if include.get("merge") in ("1", "true"):
            raise FileError(f"{where}: `merge` of an include is not read: put the model in its place, as `gz sdf -p` does")
        path = self._find(uri, where)
        if path in above:
            raise FileError(f"{where}: `{uri[:60]}` includes itself")
        root = read_xml(path)
        refuse_macros(path, root)
        model = root.child("model")
        if root.tag != "sdf" or model is None:
            raise FileError(f"{where}: `{uri[:60]}` holds no model of SDF")
        if (own := root.get("version", version)) != version and _is_old(own) != _is_old(version):
            hint = f"bring both to one version by `gz sdf -p {path}`"
            raise FileError(f"{where}: `{uri[:60]}` is of version {own}, this file of {version}: {hint}")
        shown = os.path.relpath(path, self.path.resolve().parent).replace(os.sep, "/")
        for one in model.below():
            one.file = shown
            if one.tag == "uri" and "://" not in one.text and not os.path.isabs(one.text):
                one.text = str(path.parent / one.text)
        self.put(model, version, (*above, path))
        return self._said(include, model, where)

    def _said(self, include: XmlElement, model: XmlElement, where: str) -> XmlElement:
        """The model with the name, pose and state of its include."""
        for one in include.children:
            if one.tag == "name":
                model.attributes["name"] = one.text
            elif one.tag in _OWN:
                model.children = [one, *(other for other in model.children if other.tag != one.tag)]
            elif one.tag == "placement_frame":
                raise FileError(f"{where}: `placement_frame` is not read: write the pose of the model itself")
            elif one.tag != "uri":
                model.children.append(one)
        return model

    def _find(self, uri: str, where: str) -> Path:
        """The file of a model that a URI names: itself, or the one in its folder that the folder's configuration names."""
        try:
            for name in ("", f"/{_CONFIG}", f"/{_MODEL}"):
                try:
                    found = self.meshes.find(uri.rstrip("/") + name).resolve()
                except LostMeshError as error:
                    lost = error
                    continue
                if found.name != _CONFIG:
                    return found
                named = [one.text for one in read_xml(found).all("sdf")]
                if named and (found.parent / named[-1]).resolve().is_relative_to(found.parent):
                    return (found.parent / named[-1]).resolve()
            raise lost
        except LostMeshError as error:
            raise FileError(f"{where}: includes `{uri[:60]}`: {error}") from None


def _is_old(version: str) -> bool:
    """Whether poses of a version name no frames."""
    major, _, minor = version.partition(".")
    return major == "1" and minor.isdigit() and int(minor) < 7
