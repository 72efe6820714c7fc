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
uniform float strength;
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
  float fade = 1.0 - smoothstep(0.3 * reach, reach, length(place));
  float line = max(0.55 * lines(cell, 1.0), lines(5.0 * cell, 1.4)) * mix(0.30, 0.26, dark);
  float shade = (1.0 - getShadowMask()) * mix(0.26, 0.55, dark);
  vec3 ink = mix(vec3(0.10, 0.14, 0.22), vec3(0.55, 0.64, 0.78), dark);
  vec3 night = mix(vec3(0.010, 0.016, 0.035), vec3(0.001, 0.0015, 0.003), dark);
  float alpha = 1.0 - (1.0 - line) * (1.0 - shade);
  vec3 shown = (ink * line * (1.0 - shade) + night * shade) / max(alpha, 1e-4);
  vec3 sheet = mix(behind, colour, mix(0.42, 0.10, dark));
  shown = mix(shown, mix(mix(sheet, ink, line), night, shade), filled);
  alpha = fade * mix(alpha, strength, filled);
  gl_FragColor = vec4(shown, alpha);
  #include <colorspace_fragment>
}`

// The lengths of cells are 1, 2 or 5 times a power of ten.
function cellOf(size) {
  const wanted = size / 12
  const power = 10 ** Math.floor(Math.log10(wanted))
  return power * [1, 2, 5, 10].find((step) => step * power >= wanted * 0.8)
}

// A ground of a size, of a colour or with nothing between its lines.
export function groundGrid(size, colour, reach = 2.6 * size, strength = 0.94) {
  const uniforms = THREE.UniformsUtils.merge([THREE.UniformsLib.lights, {
    cell: { value: cellOf(size) },
    reach: { value: reach },
    dark: { value: 0 },
    filled: { value: colour ? 1 : 0 },
    strength: { value: strength },
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
