// The way of a rope around a cylinder or a sphere: model/forces/wrapping.py has the geometry, and its symbols.

import * as THREE from 'three'

const COLLINEAR = 1e-9

// Both ends of a piece of the way; `carry` takes a body and a point of it to the world.
export function pieceAround(around, carry) {
  const [p, centre, q, side] = around.bodies.map((body, k) => carry(body, new THREE.Vector3(...around.points[k])))
  const about = new THREE.Vector3(...around.points[1])
  const axis = around.axis ? carry(around.bodies[1], about.add(new THREE.Vector3(...around.axis))).sub(centre) : null
  const from = (point) => point.clone().sub(centre)
  const at = wayAround(from(p), from(q), around.radius, axis, around.is_sided ? from(side) : null)
  const share = (piece) => at(piece / around.chords).add(centre)
  if (around.piece < 0) return [p, share(0)]
  if (around.piece === around.chords) return [share(around.chords), q]
  return [share(around.piece), share(around.piece + 1)]
}

// A function from a share of the arc to its point about the centre.
function wayAround(p, q, radius, axis, side) {
  const n = axis ?? normal(p, q, side)
  const [flatP, flatQ] = [p, q].map((point) => point.clone().addScaledVector(n, -point.dot(n)))
  const [a, b] = [flatP.length(), flatQ.length()]
  const straight = p.clone().add(q).multiplyScalar(0.5)
  if (a <= radius || b <= radius) return () => straight.clone()
  const x = flatP.clone().divideScalar(a)
  const y = n.clone().cross(x)
  const [reachP, reachQ] = [a, b].map((distance) => Math.sqrt(distance * distance - radius * radius))
  const [alpha, beta] = [Math.atan2(reachP, radius), Math.atan2(reachQ, radius)]
  let turn = Math.atan2(flatQ.dot(y), flatQ.dot(x))
  if (turn < 0) turn += 2 * Math.PI
  const arcs = [turn - alpha - beta, 2 * Math.PI - turn - alpha - beta]
  const long = side !== null && crossesBack(flatP, flatQ, side, n)
  if (!long && Math.min(...arcs) <= 0) return () => straight.clone()
  const left = arcs[0] <= arcs[1] !== long
  const arc = left ? arcs[0] : arcs[1]
  const sign = left ? 1 : -1
  const plane = reachP + radius * arc + reachQ
  const [height, rise] = [p.dot(n), q.dot(n) - p.dot(n)]
  return (share) => {
    const angle = alpha + share * arc
    const up = height + (rise * (reachP + share * radius * arc)) / plane
    return n.clone().multiplyScalar(up)
      .addScaledVector(x, radius * Math.cos(angle))
      .addScaledVector(y, sign * radius * Math.sin(angle))
  }
}

// The unit normal of the plane of two points of a sphere; where the centre is on one line with them, beside the side.
function normal(p, q, side) {
  let other = q
  for (const next of [side ?? new THREE.Vector3(1, 0, 0), new THREE.Vector3(1, 0, 0), new THREE.Vector3(0, 1, 0)]) {
    if (p.clone().cross(other).length() > COLLINEAR * p.length() * other.length()) break
    other = next
  }
  return p.clone().cross(other).normalize()
}

// Whether the line from p to q crosses the ray from the centre away from the side.
function crossesBack(p, q, side, n) {
  const left = n.clone().cross(side)
  const [xP, yP, xQ, yQ] = [p.dot(side), p.dot(left), q.dot(side), q.dot(left)]
  return yP * yQ < 0 && (yP * xQ - yQ * xP) * (yP - yQ) < 0
}
