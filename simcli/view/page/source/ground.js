// A grid that fades into the background, and the shadows on it.

import * as THREE from 'three'

const VERTEX = `
#include <common>
#include <shadowmap_pars_vertex>
varying vec2 place;
varying vec3 world;
void main() {
  #include <beginnormal_vertex>
  #include <defaultnormal_vertex>
  #include <begin_vertex>
  #include <worldpos_vertex>
  #include <shadowmap_vertex>
  place = position.xy;
  world = (modelMatrix * vec4(position, 1.0)).xyz;
  gl_Position = projectionMatrix * viewMatrix * vec4(world, 1.0);
}`

const FRAGMENT = `
#include <common>
#include <packing>
#include <lights_pars_begin>
#include <shadowmap_pars_fragment>
#include <shadowmask_pars_fragment>
uniform float cell;
uniform float reach;
uniform float dark;
uniform float filled;
uniform vec3 colour;
uniform vec3 behind;
varying vec2 place;
varying vec3 world;

float lines(float size, float width) {
  vec2 at = place / size;
  vec2 slope = fwidth(at);
  vec2 near = abs(fract(at - 0.5) - 0.5) / max(slope, vec2(1e-6));
  float fine = 1.0 - smoothstep(0.15, 0.6, max(slope.x, slope.y));
  return fine * (1.0 - clamp(min(near.x, near.y) - 0.5 * (width - 1.0), 0.0, 1.0));
}

void main() {
  float fade = 1.0 - smoothstep(0.25 * reach, reach, length(place));
  float line = max(0.45 * lines(cell, 1.0), 0.9 * lines(5.0 * cell, 1.2));
  vec3 ink = mix(vec3(0.32, 0.37, 0.45), vec3(0.62, 0.69, 0.80), dark);
  float shade = (1.0 - getShadowMask()) * mix(0.28, 0.5, dark);
  float sheet = filled * mix(0.5, 0.16, dark);
  vec3 base = mix(behind, colour, sheet);
  vec3 shown = mix(mix(base, ink, line * mix(0.34, 0.30, dark)), vec3(0.03, 0.04, 0.07), shade);
  float alpha = fade * max(max(line * mix(0.5, 0.45, dark), shade), filled * 0.85);
  gl_FragColor = vec4(shown, alpha);
  #include <colorspace_fragment>
}`

// The lengths of cells are 1, 2 or 5 times a power of ten.
function cellOf(size) {
  const wanted = size / 12
  const power = 10 ** Math.floor(Math.log10(wanted))
  return power * [1, 2, 5, 10].find((step) => step * power >= wanted * 0.8)
}

export function groundGrid(unit, size, colour) {
  const reach = 2.6 * size
  const uniforms = THREE.UniformsUtils.merge([THREE.UniformsLib.lights, {
    cell: { value: cellOf(size) },
    reach: { value: reach },
    dark: { value: 0 },
    filled: { value: colour ? 1 : 0 },
    colour: { value: new THREE.Color() },
    behind: { value: new THREE.Color() },
  }])
  if (colour) uniforms.colour.value.setRGB(...colour, THREE.SRGBColorSpace)
  const material = new THREE.ShaderMaterial({
    uniforms, vertexShader: VERTEX, fragmentShader: FRAGMENT, lights: true, transparent: true, depthWrite: false,
    side: THREE.DoubleSide,
  })
  const ground = new THREE.Mesh(new THREE.CircleGeometry(reach, 64), material)
  ground.receiveShadow = true
  ground.renderOrder = -1
  return ground
}
