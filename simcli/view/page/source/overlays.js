// Trails of points, and contacts: what is drawn beside the mechanism.

import * as THREE from 'three'
import { Line2 } from 'three/addons/lines/Line2.js'
import { LineGeometry } from 'three/addons/lines/LineGeometry.js'
import { LineMaterial } from 'three/addons/lines/LineMaterial.js'

const MOST = 3000 // points of a trail
const Z = new THREE.Vector3(0, 0, 1)

export class Trails {
  constructor(stage) {
    this.stage = stage
    this.recording = stage.recording
    this.on = new Set()
    this.lines = new Map()
  }

  // Points that can leave a trail: those with a name, and the centres of mass.
  static choices(scene) {
    const drawing = scene.drawings[0]
    const points = drawing.points.map(([name, body, position]) => ({ name, body, position, named: true }))
    const masses = drawing.items.filter((item) => item.layer === 'mass' && item.body >= 0)
    return [...points, ...masses.map(({ body, position }) => ({
      name: `${scene.bodies[body]}: centre of mass`, body, position, named: false }))]
  }

  set(on) {
    this.on = new Set(on)
    this.clear()
  }

  clear() {
    for (const { line } of this.lines.values()) {
      line.parent?.remove(line)
      line.geometry.dispose()
      line.material.dispose()
    }
    this.lines.clear()
  }

  line(index, choice) {
    const { recording } = this
    const key = `${index} ${choice.name}`
    const held = this.lines.get(key)
    if (held && held.n === recording.n) return held
    if (held) { held.line.parent?.remove(held.line); held.line.geometry.dispose() }
    const every = Math.max(1, Math.ceil(recording.n / MOST))
    const flat = []
    const frames = []
    for (let frame = 0; frame < recording.n; frame += every) {
      if (!recording.isValid(frame, index)) break
      const point = recording.pointAt(frame, index, choice.body, new THREE.Vector3(...choice.position))
      flat.push(point.x, point.y, point.z)
      frames.push(frame)
    }
    if (frames.length < 2) return null
    const geometry = new LineGeometry()
    geometry.setPositions(flat)
    const { items } = recording.scene.drawings[recording.scene.worlds[index].drawing]
    const painted = items.find((item) => item.body === choice.body && (item.layer === 'shape' || item.layer === 'link'))
    const material = new LineMaterial({ linewidth: 2.2, transparent: true, opacity: 0.85 })
    material.color.setRGB(...(painted?.colour ?? [0.3, 0.4, 0.5]), THREE.SRGBColorSpace)
    const line = new Line2(geometry, material)
    line.frustumCulled = false
    this.stage.worlds[index].overlay.add(line)
    const made = { line, frames, n: recording.n }
    this.lines.set(key, made)
    return made
  }

  place(time, choices) {
    const frame = this.recording.frameAt(time)
    for (const index of this.stage.shown) {
      for (const choice of choices) {
        if (!this.on.has(choice.name)) continue
        const made = this.line(index, choice)
        if (!made) continue
        let count = made.frames.findIndex((one) => one > frame)
        if (count < 0) count = made.frames.length
        made.line.geometry.instanceCount = Math.max(0, count - 1)
        made.line.visible = count > 1
      }
    }
  }
}

export class Contacts {
  constructor(stage) {
    this.stage = stage
    this.recording = stage.recording
    this.on = false
    const { unit } = this.recording.scene
    const thick = 0.014 * unit
    const TURN = new THREE.Matrix4().makeRotationX(Math.PI / 2)
    this.shapes = {
      dot: new THREE.SphereGeometry(1.8 * thick, 16, 10),
      shaft: new THREE.CylinderGeometry(thick, thick, 1, 12).applyMatrix4(TURN).translate(0, 0, 0.5),
      head: new THREE.ConeGeometry(2.6 * thick, 6 * thick, 16).applyMatrix4(TURN).translate(0, 0, 3 * thick),
    }
    this.material = new THREE.MeshBasicMaterial({ color: '#d6336c', depthTest: false, transparent: true })
    this.of = new Map()
  }

  meshes(index, count) {
    const held = this.of.get(index)
    if (held && held.capacity >= count) return held
    if (held) for (const mesh of held.all) { mesh.parent.remove(mesh); mesh.dispose() }
    const capacity = Math.max(16, 2 * count)
    const made = { capacity }
    for (const [name, shape] of Object.entries(this.shapes)) {
      made[name] = new THREE.InstancedMesh(shape, this.material, capacity)
      made[name].frustumCulled = false
      made[name].renderOrder = 6
      this.stage.worlds[index].overlay.add(made[name])
    }
    made.all = Object.keys(this.shapes).map((name) => made[name])
    this.of.set(index, made)
    return made
  }

  place(time) {
    const frame = this.recording.frameAt(time)
    const { unit, force } = this.recording.scene
    for (const index of this.stage.shown) {
      const values = this.on ? this.recording.contacts(frame, index) : null
      const n = values ? values.length / 6 : 0
      if (!n && !this.of.has(index)) continue
      const { dot, shaft, head, all } = this.meshes(index, n)
      for (const mesh of all) { mesh.count = n; mesh.visible = n > 0 }
      for (let k = 0; k < n; k++) {
        const point = new THREE.Vector3(...values.subarray(6 * k, 6 * k + 3))
        const pull = new THREE.Vector3(...values.subarray(6 * k + 3, 6 * k + 6))
        const length = force > 0 ? (Math.min(pull.length() / force, 4) * unit) : 0
        const turn = new THREE.Quaternion()
        if (length > 0) turn.setFromUnitVectors(Z, pull.clone().normalize())
        const one = new THREE.Vector3(1, 1, 1)
        const none = new THREE.Vector3(0, 0, 0)
        const end = point.clone().add(new THREE.Vector3(0, 0, length).applyQuaternion(turn))
        dot.setMatrixAt(k, new THREE.Matrix4().compose(point, turn, one))
        shaft.setMatrixAt(k, new THREE.Matrix4().compose(point, turn, length > 0 ? new THREE.Vector3(1, 1, length) : none))
        head.setMatrixAt(k, new THREE.Matrix4().compose(end, turn, length > 0 ? one : none))
      }
      for (const mesh of all) mesh.instanceMatrix.needsUpdate = true
    }
  }
}
