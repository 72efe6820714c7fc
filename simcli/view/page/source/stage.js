// The world on the screen: light, ground, one group of figures for each world, and one viewport for each world that is seen.

import * as THREE from 'three'
import { OrbitControls } from 'three/addons/controls/OrbitControls.js'
import { Workshop } from './figures.js'
import { groundGrid } from './ground.js'
import { pieceAround } from './ways.js'

const MANY = 9 // viewports from which on shadows are left out
const Z = new THREE.Vector3(0, 0, 1)

// A background that is a little darker below.
function sky([above, below]) {
  const canvas = document.createElement('canvas')
  canvas.width = 2
  canvas.height = 256
  const context = canvas.getContext('2d')
  const gradient = context.createLinearGradient(0, 0, 0, 256)
  gradient.addColorStop(0, above)
  gradient.addColorStop(1, below)
  context.fillStyle = gradient
  context.fillRect(0, 0, 2, 256)
  const made = new THREE.CanvasTexture(canvas)
  made.colorSpace = THREE.SRGBColorSpace
  return made
}

export class Stage {
  constructor(canvas, recording, theme) {
    const { scene } = recording
    this.recording = recording
    this.canvas = canvas
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: false })
    this.renderer.setScissorTest(true)
    this.renderer.shadowMap.enabled = true
    this.renderer.shadowMap.type = THREE.PCFShadowMap
    this.scene = new THREE.Scene()
    this.workshop = new Workshop(scene)
    this.up = new THREE.Vector3(...scene.up)
    this.low = new THREE.Vector3(...scene.bounds[0])
    this.high = new THREE.Vector3(...scene.bounds[1])
    this.size = this.low.distanceTo(this.high) || 1
    this.shown = [0]
    this.mode = 'one'
    this.focus = 0
    this.hiddenLayers = new Map()
    this.worlds = []
    this.shear = new THREE.Matrix4()
    this.addLight()
    this.addWorlds()
    this.addGround()
    this.camera = new THREE.PerspectiveCamera(40, 1, this.size / 500, this.size * 300)
    this.controls = new OrbitControls(this.camera, canvas)
    this.controls.enableDamping = true
    this.controls.dampingFactor = 0.12
    this.controls.zoomToCursor = true
    this.controls.addEventListener('start', () => { this.moved = true })
    this.setTheme(theme)
    this.resetCamera()
  }

  addLight() {
    const middle = this.low.clone().add(this.high).multiplyScalar(0.5)
    this.lights = [new THREE.HemisphereLight(0xffffff, 0xb4bccb, 2.3)]
    const side = Math.abs(this.up.z) > 0.5 ? new THREE.Vector3(0.5, -0.65, 0) : new THREE.Vector3(0.5, 0, 0.65)
    const sun = new THREE.DirectionalLight(0xfff6ea, 2.5)
    sun.position.copy(middle).addScaledVector(this.up, 1.2 * this.size).addScaledVector(side, this.size)
    sun.target.position.copy(middle)
    sun.castShadow = true
    const reach = 1.0 * this.size
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach,
      near: 0.01 * this.size, far: 5 * this.size })
    sun.shadow.mapSize.set(2048, 2048)
    sun.shadow.normalBias = 0.005 * this.size
    sun.shadow.bias = -0.0004
    sun.shadow.radius = 4
    const fill = new THREE.DirectionalLight(0xdfe9ff, 0.9)
    fill.position.copy(middle).addScaledVector(side, -this.size).addScaledVector(this.up, 0.3 * this.size)
    fill.target.position.copy(middle)
    this.sun = sun
    this.lights.push(sun, sun.target, fill, fill.target)
    this.scene.add(...this.lights)
  }

  addWorlds() {
    const { scene } = this.recording
    scene.worlds.forEach((world, index) => {
      const group = new THREE.Group()
      const bodies = [...scene.bodies, 'world'].map(() => new THREE.Group())
      bodies.forEach((body) => { group.add(body) })
      bodies.forEach((body) => { body.matrixAutoUpdate = false }) // no pose tells how a body is stretched
      const drawing = scene.drawings[world.drawing]
      for (const item of drawing.items) {
        const figure = this.workshop.figure(item)
        if (item.kind === 'plane') figure.visible = false // the ground is drawn once
        bodies[item.body < 0 ? scene.bodies.length : item.body].add(figure)
      }
      const strands = drawing.strands.map((strand) => this.workshop.strand(strand))
      strands.forEach((figure) => { group.add(figure) })
      const overlay = new THREE.Group()
      group.add(overlay)
      this.scene.add(group)
      this.worlds.push({ index, group, bodies, strands, overlay })
    })
    this.setLayers({})
  }

  addGround() {
    const { scene } = this.recording
    this.grounds = []
    const planes = scene.drawings[0].items.filter((item) => item.kind === 'plane' && item.body < 0)
    for (const plane of planes) this.grounds.push(this.plane(plane))
    if (!planes.length && scene.grid) {
      const ground = groundGrid(this.size, null)
      const height = Math.min(this.low.dot(this.up), this.high.dot(this.up)) - 0.02 * this.size
      ground.position.copy(this.low).add(this.high).multiplyScalar(0.5)
      ground.position.addScaledVector(this.up, height - ground.position.dot(this.up))
      ground.quaternion.setFromUnitVectors(Z, this.up)
      this.grounds.push(ground)
    }
    this.scene.add(...this.grounds)
  }

  // A level plane is ground; of one that is not, the part near which bodies are.
  plane(item) {
    const turn = new THREE.Quaternion(...item.orientation)
    const normal = Z.clone().applyQuaternion(turn)
    const at = new THREE.Vector3(...item.position)
    const middle = this.low.clone().add(this.high).multiplyScalar(0.5)
    let ground
    if (normal.dot(this.up) > 0.999) {
      ground = groundGrid(this.size, item.colour)
      ground.material.depthWrite = true
    } else {
      const near = this.touching(at, normal)
      let reach = 0.25 * this.size
      if (near.length) {
        middle.set(0, 0, 0)
        for (const point of near) middle.addScaledVector(point, 1 / near.length)
        reach = Math.max(...near.map((point) => point.distanceTo(middle))) + 0.2 * this.size
      }
      ground = groundGrid(this.size, item.colour, reach, 0.6)
      ground.renderOrder = 0 // after level ground, which hides what is below it
    }
    ground.position.copy(middle).addScaledVector(normal, at.clone().sub(middle).dot(normal))
    ground.quaternion.copy(turn)
    return ground
  }

  // Where bodies are, at some times, that come near a plane.
  touching(at, normal) {
    const { recording } = this
    const every = Math.max(1, Math.floor(recording.n / 40))
    const place = new THREE.Vector3()
    const turn = new THREE.Quaternion()
    const found = []
    for (let body = 0; body < recording.nBodies; body++) {
      const reach = recording.scene.reach[body]
      const near = []
      let lowest = Infinity
      for (let frame = 0; frame < recording.n; frame += every) {
        recording.poseAt(frame, 0, body, place, turn)
        const height = place.clone().sub(at).dot(normal)
        lowest = Math.min(lowest, height)
        if (height < 1.3 * reach) near.push(place.clone())
      }
      if (lowest > -0.2 * reach) found.push(...near) // what is below the plane does not touch it
    }
    return found
  }

  setTheme(theme) {
    const { background } = this.recording.scene
    const own = background ? new THREE.Color().setRGB(...background, THREE.SRGBColorSpace) : null
    this.background = own ?? new THREE.Color(theme === 'dark' ? '#12161d' : '#f3f5f8')
    this.scene.background = own ?? sky(theme === 'dark' ? ['#1b222d', '#10141b'] : ['#fbfcfd', '#e6eaf0'])
    const tone = { h: 0, s: 0, l: 0 }
    this.background.getHSL(tone)
    const isDark = tone.l < 0.35
    document.documentElement.dataset.sky = isDark ? 'dark' : 'light' // of the title, which stands on it
    for (const ground of this.grounds) ground.material.uniforms.dark.value = isDark ? 1 : 0
    for (const ground of this.grounds) ground.material.uniforms.behind.value.copy(this.background)
    this.theme = theme
  }

  // Layers that a user has switched, by name; others are as the drawing says.
  setLayers(switched) {
    this.switched = switched
    for (const { group } of this.worlds) {
      group.traverse((figure) => {
        const item = figure.userData.item
        if (item && item.kind !== 'plane') figure.visible = switched[item.layer] ?? item.shown
      })
    }
  }

  show(worlds, mode, focus) {
    this.shown = worlds
    this.mode = mode
    this.focus = focus
    for (const world of this.worlds) {
      const ghost = mode === 'ghosts' && world.index !== focus
      world.group.traverse((figure) => {
        const item = figure.userData.item ?? null
        if (!figure.isMesh || !item || figure.userData.fixed) return
        const { colour, opacity } = figure.material.userData
        figure.material = this.workshop.material(colour, opacity, ghost)
        figure.castShadow = !ghost && opacity > 0.5
      })
    }
  }

  resetCamera(name) {
    const { scene } = this.recording
    this.seenFrom = [name, scene.camera].find((one) => one === 'auto' || one in scene.cameras) ?? 'auto'
    const given = scene.cameras[this.seenFrom] ?? scene.auto
    this.followed = null
    this.camera.up.set(...given.up)
    this.camera.fov = (given.fov * 180) / Math.PI
    this.camera.position.set(...given.position)
    this.controls.target.set(...given.target)
    // The automatic camera was made for a wide picture: a narrow one stands further back.
    const [width, height] = this.cell()
    const narrow = Math.max(1, scene.aspect / (width / height))
    if (given === scene.auto) this.camera.position.sub(this.controls.target).multiplyScalar(narrow).add(this.controls.target)
    this.camera.updateProjectionMatrix()
    this.controls.update()
  }

  nextCamera() {
    const names = ['auto', ...Object.keys(this.recording.scene.cameras)]
    this.resetCamera(names[(names.indexOf(this.seenFrom) + 1) % names.length])
  }

  // Keep the camera at the same place beside a body, -1 for none.
  follow(body, index) {
    const own = this.worlds[index].bodies[body]
    if (body < 0 || !own) { this.followed = null; return }
    if (this.followed?.key === `${body} ${index}`) {
      const moved = own.position.clone().sub(this.followed.at)
      this.camera.position.add(moved)
      this.controls.target.add(moved)
    }
    this.followed = { key: `${body} ${index}`, at: own.position.clone() }
  }

  bodyAt(x, y) {
    const k = this.viewports().findIndex(([left, top, width, height]) => x >= left && x < left + width && y >= top && y < top + height)
    const [left, top, width, height] = this.viewports()[Math.max(k, 0)]
    const ray = new THREE.Raycaster()
    ray.setFromCamera(new THREE.Vector2((2 * (x - left)) / width - 1, 1 - (2 * (y - top)) / height), this.camera)
    const group = this.worlds[this.mode === 'grid' ? this.shown[Math.max(k, 0)] : this.focus].group
    const hit = ray.intersectObject(group, true).find(({ object }) => object.isMesh && object.visible && object.userData.item)
    return hit?.object.userData.item.body ?? -1
  }

  // The box of a motion that has grown: ground and light follow, the camera too unless somebody has moved it.
  widen(bounds) {
    const [low, high] = bounds.map((corner) => new THREE.Vector3(...corner))
    if (low.distanceTo(this.low) + high.distanceTo(this.high) < 1e-6 * this.size) return
    this.low.copy(low)
    this.high.copy(high)
    this.size = low.distanceTo(high) || 1
    this.scene.remove(...this.grounds, ...this.lights)
    for (const ground of this.grounds) { ground.geometry.dispose(); ground.material.dispose() }
    this.addLight()
    this.addGround()
    this.setTheme(this.theme)
    this.camera.near = this.size / 500
    this.camera.far = this.size * 300
    if (!this.moved) this.resetCamera()
  }

  // Columns and rows of viewports.
  layout() {
    const n = this.mode === 'grid' ? this.shown.length : 1
    const aspect = this.width / this.height || 1
    if (this.mode === 'grid' && this.columns) return [this.columns, Math.ceil(n / this.columns)]
    let best = [1, n]
    let score = 0
    for (let columns = 1; columns <= n; columns++) {
      const rows = Math.ceil(n / columns)
      const side = Math.min(aspect / columns, 1.4 / rows)
      if (side > score + 1e-9) { score = side; best = [columns, rows] }
    }
    return best
  }

  cell() {
    this.width = this.canvas.clientWidth || 1
    this.height = this.canvas.clientHeight || 1
    const [columns, rows] = this.layout()
    return [this.width / columns, this.height / rows]
  }

  place(time) {
    for (const index of this.shown) {
      const { bodies, strands } = this.worlds[index]
      for (let b = 0; b < this.recording.nBodies; b++) {
        const body = bodies[b]
        this.recording.sample(time, index, b, body.position, body.quaternion, this.shear)
        body.updateMatrix()
        body.matrix.multiply(this.shear)
        body.matrixWorldNeedsUpdate = true
      }
      for (const figure of strands) this.stretch(figure, bodies)
    }
  }

  stretch(figure, bodies) {
    const { strand } = figure.userData
    const carry = (body, point) => (body < 0 ? point : point.applyMatrix4(bodies[body].matrix))
    const [from, to] = strand.around
      ? pieceAround(strand.around, carry)
      : strand.bodies.map((body, k) => carry(body, new THREE.Vector3(...strand.points[k])))
    const along = to.clone().sub(from)
    const length = along.length()
    figure.position.copy(from)
    figure.scale.set(1, 1, Math.max(length, 1e-9))
    if (length > 0) figure.quaternion.setFromUnitVectors(Z, along.divideScalar(length))
  }

  // Viewports in the order of the worlds that are seen: [x, y, width, height], from the upper left corner.
  viewports() {
    const [columns] = this.layout()
    const [width, height] = this.cell()
    if (this.mode !== 'grid') return [[0, 0, this.width, this.height]]
    return this.shown.map((_, k) => [(k % columns) * width, Math.floor(k / columns) * height, width, height])
  }

  draw() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2)
    const viewports = this.viewports()
    if (this.renderer.getPixelRatio() !== ratio) this.renderer.setPixelRatio(ratio)
    const size = this.renderer.getSize(new THREE.Vector2())
    if (size.x !== this.width || size.y !== this.height) this.renderer.setSize(this.width, this.height, false)
    this.sun.castShadow = viewports.length < MANY
    const first = viewports[0]
    this.camera.aspect = first[2] / first[3]
    this.camera.updateProjectionMatrix()
    viewports.forEach(([x, y, width, height], k) => {
      const seen = this.mode === 'grid' ? [this.shown[k]] : this.mode === 'ghosts' ? this.shown : [this.focus]
      for (const world of this.worlds) world.group.visible = seen.includes(world.index)
      const bottom = this.height - y - height
      this.renderer.setViewport(x, bottom, width, height)
      this.renderer.setScissor(x, bottom, width, height)
      this.renderer.render(this.scene, this.camera)
    })
  }

  // Pixels of the canvas at which a point of the world is seen, in the viewport of a world.
  project(point, index) {
    const viewports = this.viewports()
    const [x, y, width, height] = viewports[this.mode === 'grid' ? this.shown.indexOf(index) : 0]
    this.camera.aspect = width / height
    this.camera.updateProjectionMatrix()
    this.camera.updateMatrixWorld()
    const seen = new THREE.Vector3(...point).project(this.camera)
    return [x + ((seen.x + 1) / 2) * width, y + ((1 - seen.y) / 2) * height]
  }
}
