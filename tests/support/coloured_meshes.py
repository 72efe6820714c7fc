"""Meshes of COLLADA and glTF that are written by hand: a tetrahedron twice, moved, turned, mirrored, with known corners."""

import json
import struct

# Corners in the file, cm in COLLADA; faces counter-clockwise seen from outside.
CORNERS = ((0, 0, 0), (100, 0, 0), (0, 100, 0), (0, 0, 100))
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
# By hand: the first node moves by (0, 200, 0) cm; of the second one (x, y, z) becomes (-y, x, 300 - z). With y up,
# (x, y, z) is (x, -z, y) where z is up.
FIRST = ((0, 0, 2), (1, 0, 2), (0, 0, 3), (0, -1, 2))
SECOND = ((0, -3, 0), (0, -3, 1), (-1, -3, 0), (0, -2, 0))
VOLUME = 2 / 6  # [m^3] of both

_EFFECT = """<effect id="{0}-effect"><profile_COMMON>{2}<technique sid="common"><lambert>{1}</lambert></technique>
</profile_COMMON></effect>"""
_MATERIAL = '<material id="{0}"><instance_effect url="#{0}-effect"/></material>'
_IMAGE = """<newparam sid="s"><surface type="2D"><init_from>picture</init_from></surface></newparam>
<newparam sid="t"><sampler2D><source>s</source></sampler2D></newparam>"""
_BOUND = """<instance_geometry url="#tet"><bind_material><technique_common>
<instance_material symbol="skin" target="#{}"/><instance_material symbol="back" target="#{}"/>
</technique_common></bind_material></instance_geometry>"""
ASSET = '<unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis>'
COLLADA = f"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>{ASSET}</asset>
<library_images><image id="picture"><init_from>textures/wood.png</init_from></image></library_images>
<library_effects>
{_EFFECT.format("red", "<diffuse><color>0.8 0.2 0 1</color></diffuse>", "")}
{
    _EFFECT.format(
        "glass",
        '<diffuse><color>0.2 0.2 0.2 1</color></diffuse><transparent opaque="A_ONE"><color>1 1 1 0.8</color></transparent>'
        "<transparency><float>0.5</float></transparency>",
        "",
    )
}
{_EFFECT.format("wood", '<diffuse><texture texture="t" texcoord="uv"/></diffuse>', _IMAGE)}
</library_effects>
<library_materials>{"".join(map(_MATERIAL.format, ("red", "glass", "wood")))}</library_materials>
<library_geometries><geometry id="tet"><mesh>
<source id="p"><float_array id="pa" count="12">{" ".join(str(x) for point in CORNERS for x in point)}</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<source id="n"><float_array id="na" count="3">0 0 1</float_array><technique_common>
<accessor source="#na" count="1" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles material="skin" count="2"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="NORMAL" source="#n" offset="1"/><p>0 0 2 0 1 0 0 0 1 0 3 0</p></triangles>
<polylist material="back" count="2"><input semantic="VERTEX" source="#v" offset="0"/><vcount>3 3</vcount>
<p>0 3 2 1 2 3</p></polylist>
</mesh></geometry></library_geometries>
<library_nodes><node id="held"><node>{_BOUND.format("red", "wood")}</node></node></library_nodes>
<library_visual_scenes><visual_scene id="scene">
<node id="a"><translate>0 200 0</translate>{_BOUND.format("red", "glass")}</node>
<node id="b"><translate>0 0 300</translate><rotate>0 0 1 90</rotate><scale>1 1 -1</scale><instance_node url="#held"/></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#scene"/></scene></COLLADA>
"""
# One triangle, of which no two axes can be taken for each other.
ONE = COLLADA.replace("0 0 0 100 0 0 0 100 0 0 0 100", "0 0 0 4 0 0 0 5 0 1 2 3")


def gltf(**changes) -> tuple[dict, bytes]:
    """The same two tetrahedra, in metres, as a JSON document without its buffer's place, and the buffer."""
    positions = struct.pack("<12f", *(x / 100 for point in CORNERS for x in point))
    indices = struct.pack("<12H", *(k for face in FACES for k in face))
    half = 0.5**0.5
    primitives = [
        {"attributes": {"POSITION": 0}, "indices": 1, "material": 0},
        {"attributes": {"POSITION": 0}, "indices": 2, "material": 1, "mode": 4},
    ]
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [
            {"children": [2], "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1.5, 0, 1]},
            {"mesh": 0, "translation": [0, 0, 3], "rotation": [0, 0, half, half], "scale": [1, 1, -1]},
            {"mesh": 0, "translation": [0, 0.5, 0]},
        ],
        "meshes": [{"primitives": primitives}],
        "materials": [
            {"pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.0, 1.0, 0.4]}, "alphaMode": "BLEND"},
            {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}},
        ],
        "textures": [{"source": 0}],
        "images": [{"uri": "textures/wood.png"}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 1]},
            {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"},
            {"bufferView": 1, "byteOffset": 12, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(positions)},
            {"buffer": 0, "byteOffset": len(positions), "byteLength": len(indices)},
        ],
        "buffers": [{"byteLength": len(positions) + len(indices)}],
    }
    return document | changes, positions + indices


def glb(**changes) -> bytes:
    """The same as a GLB file."""
    document, buffer = gltf(**changes)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(buffer), b"BIN\0") + buffer
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks
