// Items of a drawing as meshes of three.js; geometries and materials are shared between worlds.

import * as THREE from 'three'
import { RoundedBoxGeometry } from 'three/addons/geometries/RoundedBoxGeometry.js'
import { toCreasedNormals } from 'three/addons/utils/BufferGeometryUtils.js'
import { floats, indices } from './data.js'

const CREASE = 0.6 // [rad] beyond which two triangles meet in an edge
const TURN = new THREE.Matrix4().makeRotationX(Math.PI / 2) // the y axis of three's round shapes to z
const PLANE = 400 // of the unit: how far a plane is drawn

// A cylinder about z whose rims are chamfered, so that they catch light.
function turned(radius, length) {
  const edge = 0.12 * Math.min(radius, 0.5 * length)
  const half = 0.5 * length
  const profile = [
    [0, -half], [radius - edge, -half], [radius - 0.3 * edge, -half + 0.3 * edge], [radius, -half + edge],
    [radius, half - edge], [radius - 0.3 * edge, half - 0.3 * edge], [radius - edge, half], [0, half],
  ].map(([x, y]) => new THREE.Vector2(x, y))
  const shape = new THREE.LatheGeometry(profile, 40)
  return toCreasedNormals(shape.applyMatrix4(TURN), CREASE)
}

const ROUND = {
  sphere: ([radius]) => new THREE.SphereGeometry(radius, 40, 26).applyMatrix4(TURN),
  ellipsoid: ([a, b, c]) => new THREE.SphereGeometry(1, 40, 26).applyMatrix4(TURN).scale(a, b, c),
  box: ([a, b, c]) => new RoundedBoxGeometry(a, b, c, 2, 0.06 * Math.min(a, b, c)),
  capsule: ([radius, length]) => new THREE.CapsuleGeometry(radius, length, 12, 32).applyMatrix4(TURN),
  cylinder: ([radius, length]) => turned(radius, length),
  cone: ([radius, length]) => new THREE.ConeGeometry(radius, length, 40).applyMatrix4(TURN),
}

export class Workshop {
  constructor(scene) {
    this.scene = scene
    this.geometries = new Map()
    this.materials = new Map()
  }

  geometry(item) {
    const key = item.kind === 'mesh' ? `mesh ${item.mesh}` : `${item.kind} ${item.size}`
    if (!this.geometries.has(key)) this.geometries.set(key, this.make(item))
    return this.geometries.get(key)
  }

  make(item) {
    if (item.kind === 'mesh') return this.mesh(this.scene.meshes[item.mesh])
    if (item.kind === 'plane') return new THREE.PlaneGeometry(PLANE * this.scene.unit, PLANE * this.scene.unit)
    return ROUND[item.kind](item.size)
  }

  mesh(raw) {
    const geometry = new THREE.BufferGeometry()
    geometry.setAttribute('position', new THREE.BufferAttribute(floats(raw.vertices), 3))
    geometry.setIndex(new THREE.BufferAttribute(indices(raw.triangles), 1))
    return toCreasedNormals(geometry, CREASE)
  }

  // A material of a colour; ghosts of other worlds have their own, so that their opacity can change.
  material(colour, opacity, ghost) {
    const key = `${colour} ${opacity} ${ghost}`
    if (!this.materials.has(key)) {
      const shade = opacity * (ghost ? 0.28 : 1)
      const made = new THREE.MeshStandardMaterial({
        color: new THREE.Color().setRGB(...colour, THREE.SRGBColorSpace),
        roughness: 0.55,
        metalness: 0.05,
        opacity: shade,
        transparent: shade < 1,
        depthWrite: shade >= 1,
        side: shade < 1 ? THREE.FrontSide : THREE.DoubleSide,
      })
      made.userData = { colour, opacity }
      this.materials.set(key, made)
    }
    return this.materials.get(key)
  }

  figure(item) {
    const figure = new THREE.Mesh(this.geometry(item), this.material(item.colour, item.opacity, false))
    figure.position.set(...item.position)
    figure.quaternion.set(...item.orientation)
    figure.castShadow = item.opacity > 0.5 && !['frame', 'axis', 'mass'].includes(item.layer)
    figure.receiveShadow = true
    figure.userData = { item }
    if (['mass', 'frame', 'axis'].includes(item.layer)) {
      // What lies inside bodies is drawn over them.
      figure.material = figure.material.clone()
      figure.material.depthTest = false
      figure.material.transparent = true
      figure.renderOrder = 5
      figure.userData.fixed = true
    }
    return figure
  }

  strand(strand) {
    const geometry = strand.kind === 'spring' ? coil(strand.radius) : rod(strand.radius)
    const figure = new THREE.Mesh(geometry, this.material(strand.colour, 1, false))
    figure.castShadow = true
    figure.userData = { strand, item: { layer: strand.layer, shown: true } }
    return figure
  }
}

// From 0 to 1 along z; its length is set by scale.
const rod = (radius) => new THREE.CylinderGeometry(radius, radius, 1, 20).applyMatrix4(TURN).translate(0, 0, 0.5)

class Helix extends THREE.Curve {
  constructor(radius, turns) {
    super()
    this.radius = radius
    this.turns = turns
  }

  getPoint(t, target = new THREE.Vector3()) {
    const end = 0.1 // straight ends
    const along = Math.min(1, Math.max(0, (t - end) / (1 - 2 * end)))
    const angle = 2 * Math.PI * this.turns * along
    const ease = Math.min(1, 12 * Math.min(t, 1 - t) / end / 4)
    const radius = this.radius * (t < end || t > 1 - end ? Math.max(0, ease - 0.5) : 1)
    return target.set(radius * Math.cos(angle), radius * Math.sin(angle), t)
  }
}

const coil = (radius) => new THREE.TubeGeometry(new Helix(radius, 10), 260, 0.16 * radius, 7)
