// What the page holds, decoded: the scene, and poses that come in chunks of frames.

import { Matrix4, Quaternion, Vector3 } from 'three'

const LARGEST = Math.SQRT1_2 // of the three smallest components of a unit quaternion

export function bytes(text) {
  const binary = atob(text)
  const found = new Uint8Array(binary.length)
  for (let k = 0; k < found.length; k++) found[k] = binary.charCodeAt(k)
  return found.buffer
}

export const floats = (text) => new Float32Array(bytes(text))
export const doubles = (text) => new Float64Array(bytes(text))
export const indices = (text) => new Uint32Array(bytes(text))

// A chunk: frames first to first + n - 1 of W worlds and B bodies. Positions are 16-bit parts of the range of each body in
// each world, orientations 2 bits for the largest component and 15 for each of the others. Where bodies are seen to be stretched,
// S - 1 of each, xx yy zz xy xz yz, in 16-bit parts of the largest strain of the body.
class Chunk {
  constructor(raw, first, nWorlds, nBodies) {
    this.first = first
    this.time = doubles(raw.time)
    this.n = this.time.length
    this.range = floats(raw.range) // (W, B, 6): lowest corner, extent
    this.words = new Uint16Array(bytes(raw.poses)) // (F, W, B, 6)
    this.strain = raw.strain ? floats(raw.strain) : null // (W, B)
    this.stretch = raw.stretch ? new Int16Array(bytes(raw.stretch)) : null // (F, W, B, 6)
    this.valid = new Uint8Array(bytes(raw.valid)) // (F, W)
    this.strip = (raw.strip ?? []).map(floats) // of each series (F, W)
    this.contactStart = raw.contacts ? indices(raw.contacts.start) : null // (F W + 1)
    this.contactValue = raw.contacts ? floats(raw.contacts.value) : null // (C, 6): point, force
    this.nWorlds = nWorlds
    this.nBodies = nBodies
  }

  pose(frame, world, body, position, orientation) {
    const own = world * this.nBodies + body
    const at = ((frame - this.first) * this.nWorlds * this.nBodies + own) * 6
    const { range, words } = this
    position.set(
      range[own * 6] + (words[at] / 65535) * range[own * 6 + 3],
      range[own * 6 + 1] + (words[at + 1] / 65535) * range[own * 6 + 4],
      range[own * 6 + 2] + (words[at + 2] / 65535) * range[own * 6 + 5],
    )
    // 48 bits: the largest's number in the two highest, then 15 for each of the others.
    const which = ((words[at + 3] >> 15) << 1) | (words[at + 4] >> 15)
    const small = [words[at + 3] & 32767, words[at + 4] & 32767, words[at + 5] & 32767]
    const found = [0, 0, 0, 0]
    let rest = 1
    for (let k = 0, i = 0; k < 4; k++) {
      if (k === which) continue
      found[k] = (small[i++] / 16383 - 1) * LARGEST
      rest -= found[k] * found[k]
    }
    found[which] = Math.sqrt(Math.max(rest, 0))
    orientation.set(...found)
  }

  // S of a body as a matrix; false, and the identity, if it is rigid.
  stretchOf(frame, world, body, matrix) {
    matrix.identity()
    if (!this.stretch) return false
    const own = world * this.nBodies + body
    const at = ((frame - this.first) * this.nWorlds * this.nBodies + own) * 6
    const [xx, yy, zz, xy, xz, yz] = Array.from(this.stretch.subarray(at, at + 6), (part) => (part / 32767) * this.strain[own])
    matrix.set(1 + xx, xy, xz, 0, xy, 1 + yy, yz, 0, xz, yz, 1 + zz, 0, 0, 0, 0, 1)
    return true
  }
}

export class Recording {
  constructor(raw) {
    this.scene = raw
    this.nBodies = raw.bodies.length
    this.nWorlds = raw.worlds.length
    this.chunks = []
    this.n = 0
    this.a = new Vector3()
    this.b = new Vector3()
    this.p = new Quaternion()
    this.q = new Quaternion()
    this.s = new Matrix4()
    for (const chunk of raw.chunks) this.append(chunk)
  }

  append(raw) {
    const chunk = new Chunk(raw, this.n, this.nWorlds, this.nBodies)
    this.chunks.push(chunk)
    this.n += chunk.n
    return chunk
  }

  get start() {
    return this.n ? this.chunks[0].time[0] : 0
  }

  get end() {
    if (!this.n) return 0
    const last = this.chunks[this.chunks.length - 1]
    return last.time[last.n - 1]
  }

  chunkOf(frame) {
    let low = 0
    let high = this.chunks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.chunks[middle].first <= frame) low = middle
      else high = middle - 1
    }
    return this.chunks[low]
  }

  timeOf(frame) {
    const chunk = this.chunkOf(frame)
    return chunk.time[frame - chunk.first]
  }

  // The frame at or before a time.
  frameAt(time) {
    let low = 0
    let high = this.n - 1
    const slack = 1e-9 * Math.max(1, Math.abs(time))
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.timeOf(middle) <= time + slack) low = middle
      else high = middle - 1
    }
    return low
  }

  isValid(frame, world) {
    if (!this.n) return true
    const chunk = this.chunkOf(frame)
    return chunk.valid[(frame - chunk.first) * this.nWorlds + world] === 1
  }

  // The pose at a time, between frames too: along the straight line and the shortest turn. `stretch` becomes S, if it is given.
  sample(time, world, body, position, orientation, stretch = null) {
    if (!this.n) return
    const frame = this.frameAt(time)
    this.poseAt(frame, world, body, position, orientation)
    const here = stretch ? this.stretchAt(frame, world, body, stretch) : false
    const next = frame + 1
    const begin = this.timeOf(frame)
    if (next >= this.n || time <= begin || !this.isValid(next, world)) return
    const part = Math.min(1, (time - begin) / (this.timeOf(next) - begin))
    this.poseAt(next, world, body, this.b, this.q)
    position.lerp(this.b, part)
    orientation.slerp(this.q, part)
    if (!stretch) return
    const there = this.stretchAt(next, world, body, this.s)
    if (here || there) {
      stretch.elements.forEach((value, k) => { stretch.elements[k] = value + part * (this.s.elements[k] - value) })
    }
  }

  poseAt(frame, world, body, position, orientation) {
    this.chunkOf(frame).pose(frame, world, body, position, orientation)
  }

  stretchAt(frame, world, body, matrix) {
    return this.chunkOf(frame).stretchOf(frame, world, body, matrix)
  }

  // Where a point of a body is, from its place in the body frame.
  pointAt(frame, world, body, point) {
    this.poseAt(frame, world, body, this.b, this.q)
    this.stretchAt(frame, world, body, this.s)
    return point.applyMatrix4(this.s).applyQuaternion(this.q).add(this.b)
  }

  series(index, frame, world) {
    if (!this.n) return NaN
    const chunk = this.chunkOf(frame)
    const values = chunk.strip[index]
    return values ? values[(frame - chunk.first) * this.nWorlds + world] : NaN
  }

  contacts(frame, world) {
    if (!this.n) return null
    const chunk = this.chunkOf(frame)
    if (!chunk.contactStart) return null
    const at = (frame - chunk.first) * this.nWorlds + world
    return chunk.contactValue.subarray(chunk.contactStart[at] * 6, chunk.contactStart[at + 1] * 6)
  }
}
