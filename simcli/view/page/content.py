"""What a page holds, as JSON: chunks of frames, and the scene around them. The page reads it in page/source/data.js."""

import base64
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import numpy as np

from simcli import __version__
from simcli.analysis.channels import energy_rounding
from simcli.view.drawing.items import CHORDS, Drawing, Item
from simcli.view.motion import ASPECT, SEEN_STRETCH, Extent, camera_of, strain
from simcli.view.page.curves import CurveGroup, values_of
from simcli.view.page.quantised import (
    N_BYTES,
    N_STRETCH_BYTES,
    error,
    filled,
    quantise,
    quantise_stretch,
    unpack,
    unpack_stretch,
)
from simcli.view.subject import ViewSubject

_Array = np.ndarray
MAX_EVENTS = 400  # on the time line, the gravest first
SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
SECONDS = 12.0  # about as long as a motion takes at first
USUAL = (2.0, 30.0)  # [s] motions of this length are shown as they are
_HEADS = ("joints", "joint", "bodies", "body", "points", "point", "forces", "params", "measure", "energy")
GLANCES = 50  # frames by which the size of a page is told
LARGEST_FORCES = 0.95  # part of the contact forces that are shown shorter than the unit


def _encoded(array: _Array, kind: str) -> str:
    """Numbers in base64, little-endian."""
    return base64.b64encode(np.ascontiguousarray(array, np.dtype(kind).newbyteorder("<")).tobytes()).decode()


@dataclass
class Content:
    """A page in the making: first `chunks`, then `head`, which knows what these have shown.

    Args:
        subject: what is seen.
        frames: which of the run.
        groups: of the strip.
        reaches: [m], (B,), largest distance of a point of each body from its frame; set here.
    """

    subject: ViewSubject
    frames: slice = field(default_factory=lambda: slice(None))
    groups: list[CurveGroup] = field(default_factory=list)

    def __post_init__(self):
        drawing = self.subject.drawings[0]
        self.extent = Extent(drawing)
        self.reach = np.zeros(len(drawing.bodies))
        for one in self.subject.drawings:
            for item in one.items:
                if item.body >= 0 and item.kind != "plane":
                    far = float(np.linalg.norm(item.corners, axis=1).max())
                    self.reach[item.body] = max(self.reach[item.body], far)
        self.error, self.n_frames, self.force = 0.0, 0, 0.0
        self.last: _Array | None = None  # poses at the frame before

    def estimate(self, n_frames: int) -> int:
        """[B], about what so many frames take: base64 makes four bytes of three."""
        run, worlds = self.subject.run, len(self.subject.worlds)
        numbers = sum(len(group.series) for group in self.groups)
        of_pose = N_BYTES + N_STRETCH_BYTES * self._is_stretched()
        size = n_frames * (8 + worlds * (1 + of_pose * len(self.reach) + 4 * numbers))
        if run is not None and "contacts" in run.channels:
            part = n_frames / max(run.n_frames, 1) * worlds / run.n_worlds
            size += int(24 * part * run.contacts_until(run.n_frames)) + 4 * n_frames * worlds
        return 4 * size // 3

    def mesh_bytes(self) -> int:
        """[B], what the meshes of all drawings take, each once."""
        meshes = _Meshes()
        for drawing in {id(one): one for one in self.subject.drawings}.values():
            _drawing(drawing, meshes)
        return sum(len(text) for row in meshes.rows for text in row.values())

    def _is_stretched(self) -> bool:
        """Whether some of the frames, from first to last, show bodies that are stretched."""
        run = self.subject.run
        if run is None or not run.is_stretched or not run.n_frames:
            return False
        few = slice(self.frames.start, self.frames.stop, max(self.frames.step or 1, run.n_frames // GLANCES))
        return any(
            np.nanmax(np.abs(strain(poses)), initial=0.0) >= SEEN_STRETCH for _, poses in self.subject.motion(few).blocks()
        )

    def chunks(self) -> Iterator[dict]:
        """Frames, block by block."""
        motion = self.subject.motion(self.frames)
        for first, poses in motion.blocks():
            yield self.chunk(motion.time[first : first + len(poses)], poses)

    def chunk(self, time: _Array, poses: _Array) -> dict:
        """One block of frames, which follow those before."""
        self.extent.see(poses)
        poses, goes_on = filled(poses, self.last)
        self.last = poses[-1]
        ranges, words = quantise(poses)
        packed, stretch = unpack(ranges, words), quantise_stretch(poses)
        if stretch is not None:
            packed = np.concatenate((packed, unpack_stretch(*stretch)), axis=-1)
        self.error = max(self.error, error(poses, packed, self.reach))
        made = {
            "time": _encoded(time, "f8"),
            "range": _encoded(ranges, "f4"),
            "poses": _encoded(words, "u2"),
            "valid": _encoded(goes_on, "u1"),
        }
        if stretch is not None:
            made["strain"], made["stretch"] = _encoded(stretch[0], "f4"), _encoded(stretch[1], "i2")
        if self.subject.run is not None:
            start = self.frames.start or 0
            step = self.frames.step or 1
            first, last = start + self.n_frames * step, start + (self.n_frames + len(time) - 1) * step + 1
            rounding = energy_rounding(self.subject.run, self.subject.worlds)
            strip = values_of(self.groups, slice(first, last, step), self.subject.worlds, rounding)
            made["strip"] = [_encoded(values, "f4") for values in strip]
            contacts = self._contacts(range(first, last, step))
            if contacts is not None:
                made["contacts"] = contacts
        self.n_frames += len(time)
        return made

    def _contacts(self, frames: range) -> dict | None:
        """Contact points and forces of some frames."""
        run, worlds = self.subject.run, self.subject.worlds
        if "contacts" not in run.channels:
            return None
        place = np.full(run.n_worlds, -1)
        place[list(worlds)] = np.arange(len(worlds))
        owners, values = [], []
        stretches = [(frames.start, frames.stop)] if frames.step == 1 else [(frame, frame + 1) for frame in frames]
        for first, last in stretches:
            table = run.contact_table(first, last)
            own = place[table["world"]] >= 0
            frame = (table["frame"][own] - frames.start) // frames.step
            owners.append(frame * len(worlds) + place[table["world"][own]])
            values.append(np.concatenate((table["point"][own], table["force"][own]), axis=1))
        owner, rows = np.concatenate(owners), np.concatenate(values)
        rows = rows[np.argsort(owner, kind="stable")]
        if len(rows):
            size = np.linalg.norm(rows[:, 3:], axis=1)
            self.force = max(self.force, float(np.quantile(size, LARGEST_FORCES)))
        counts = np.bincount(owner, minlength=len(frames) * len(worlds))
        return {"start": _encoded(np.concatenate([[0], np.cumsum(counts)]), "u4"), "value": _encoded(rows, "f4")}

    def head(self, view: dict, live: bool = False) -> dict:
        """Everything but the chunks, which have been made.

        Args:
            view: mode, shown worlds (places in `subject.worlds`), columns.
            live: whether more frames will come.
        """
        subject = self.subject
        spec, drawings = subject.spec, subject.drawings
        kinds = list(dict.fromkeys(map(id, drawings)))
        one_of = {id(drawing): drawing for drawing in drawings}
        meshes = _Meshes()
        low, high = self.extent.box()
        auto = camera_of(low, high, drawings[0])
        return {
            "title": spec.name or subject.path.stem,
            "description": spec.description,
            "live": live,
            "bodies": list(drawings[0].bodies),
            "worlds": self._worlds(kinds),
            "drawings": [_drawing(one_of[key], meshes) for key in kinds],
            "meshes": meshes.rows,
            "background": drawings[0].background,
            "grid": drawings[0].grid,
            "up": drawings[0].up,
            "unit": drawings[0].unit,
            "reach": self.reach.tolist(),
            "bounds": [low.tolist(), high.tolist()],
            "cameras": {name: _camera(one) for name, one in drawings[0].cameras.items()},
            "camera": drawings[0].camera,
            "auto": _camera(auto),
            "aspect": ASPECT,
            "strip": self._strip(),
            "events": self.events(),
            "hasContacts": subject.run is not None and "contacts" in subject.run.channels,
            "force": self.force,
            "facts": self.facts(),
            "notes": [*subject.notes, *drawings[0].notes],
            "view": {"speed": self._speed(), "speeds": SPEEDS, "play": False, **view},
        }

    def facts(self) -> list[tuple[str, str]]:
        """What there is to say of the page: name, value."""
        subject, run = self.subject, self.subject.run
        found = [("from", subject.path.name)]
        if run is not None:
            found += [
                ("made by", f"simcli {run.provenance.versions.get('simcli', '')}, {run.provenance.created_utc}"),
                ("run", run.status),
                ("frames", f"{self.n_frames} of {run.n_frames}"),
            ]
        total = run.n_worlds if run is not None else subject.model.n_worlds
        found += [
            ("worlds", f"{len(subject.worlds)} of {total}"),
            ("solver", f"{subject.spec.solver.type}, dt {subject.spec.solver.dt:g} s"),
            ("precision", f"positions within {1e3 * self.error:.2g} mm"),
            ("page", f"simcli {__version__}"),
        ]
        return found

    def _worlds(self, kinds: list[int]) -> list[dict]:
        """Number, drawing, status, and the numbers by which worlds are told apart."""
        subject, table = self.subject, self.subject.table
        columns = [(name, unit, values, True) for name, unit, values in subject.params]
        if table is not None:
            columns += [
                (one.name, one.unit, one.values.tolist(), False)
                for name, one in table.columns.items()
                if name.startswith("measure.")
            ]
        status = table.columns["status"].values.tolist() if table is not None else ["not run"] * len(subject.worlds)
        return [
            {
                "number": world,
                "name": f"world {world}",
                "drawing": kinds.index(id(subject.drawings[k])),
                "status": status[k],
                "failed": status[k] == "failed",
                "values": [
                    {"name": name, "short": short(name), "unit": unit, "value": finite(values[k]), "varied": varied}
                    for name, unit, values, varied in columns
                ],
            }
            for k, world in enumerate(subject.worlds)
        ]

    def _strip(self) -> list[dict]:
        made, index = [], 0
        for group in self.groups:
            rows = []
            for series in group.series:
                rows.append({"label": short(series.label), "index": index})
                index += 1
            made.append({"title": group.title, "unit": group.unit, "series": rows})
        return made

    def events(self) -> list[dict]:
        """Events of the worlds that are seen, in time; many: the gravest."""
        if self.subject.run is None:
            return []
        place = {world: k for k, world in enumerate(self.subject.worlds)} | {-1: -1}
        found = [event for event in self.subject.run.events if event.world in place]
        found = sorted(found, key=lambda event: -event.severity)[:MAX_EVENTS]
        return [
            {
                "time": finite(event.time),
                "world": place[event.world],
                "code": event.code,
                "severity": min(max(event.severity, 0), 2),
                "text": event.text,
            }
            for event in sorted(found, key=lambda event: event.time)
        ]

    def _speed(self) -> float:
        """A speed at which the motion takes neither a moment nor minutes."""
        span = float(np.ptp(self.subject.run.time)) if self.subject.run is not None and self.subject.run.n_frames else 0.0
        if not span or USUAL[0] <= span <= USUAL[1]:
            return 1
        return min(SPEEDS, key=lambda speed: abs(np.log(span / speed / SECONDS)))


class _Meshes:
    """Meshes of all drawings, each once."""

    def __init__(self):
        self.rows: list[dict] = []
        self._index: dict[tuple[bytes, bytes], int] = {}

    def index(self, item: Item) -> int:
        """Number of the mesh of an item."""
        key = (np.asarray(item.vertices, "<f4").tobytes(), np.asarray(item.triangles, "<u4").tobytes())
        if key not in self._index:
            self._index[key] = len(self.rows)
            self.rows.append({"vertices": _encoded(item.vertices, "f4"), "triangles": _encoded(item.triangles, "u4")})
        return self._index[key]


def _drawing(drawing: Drawing, meshes: _Meshes) -> dict:
    items = []
    for item in (one for one in drawing.items if one.opacity > 0.0):
        row = {
            "name": item.name,
            "body": item.body,
            "kind": item.kind,
            "size": item.size,
            "position": item.position,
            "orientation": item.orientation,
            "colour": _rounded(item.colour),
            "opacity": item.opacity,
            "layer": item.layer,
            "shown": item.shown,
        }
        items.append(row | ({"mesh": meshes.index(item)} if item.kind == "mesh" else {}))
    strands = [
        {
            "name": one.name,
            "kind": one.kind,
            "bodies": one.bodies,
            "points": one.points,
            "radius": one.radius,
            "colour": _rounded(one.colour),
            "layer": one.layer,
            **({} if one.around is None else {"around": asdict(one.around) | {"chords": CHORDS}}),
        }
        for one in drawing.strands
    ]
    return {"items": items, "strands": strands, "points": drawing.points}


def _camera(camera) -> dict:
    return {"position": camera.position, "target": camera.target, "up": camera.up, "fov": camera.fov}


def _rounded(colour: tuple[float, ...]) -> list[float]:
    return [round(value, 4) for value in colour]


def short(name: str) -> str:
    """A name without the words that all of its kind share: `pin.damping` of `joints.pin.damping`."""
    head, _, rest = name.partition(".")
    return rest if rest and head in _HEADS else name


def finite(value: float) -> float | None:
    """A number, or None where JSON has none."""
    return value if np.isfinite(value) else None
