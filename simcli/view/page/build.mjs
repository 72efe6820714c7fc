// One file of all sources: `npm ci && npm run build`. Its first line has the hash of what it was made of.

import { build } from 'esbuild'
import { createHash } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'

const parts = ['build.mjs', 'package-lock.json', ...readdirSync('source').sort().map((name) => `source/${name}`)]
const hash = createHash('sha256')
for (const part of parts) hash.update(`${part}\n`).update(readFileSync(part))

await build({
  entryPoints: ['source/main.js'],
  outfile: 'bundled/view.js',
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'none',
  loader: { '.css': 'text' },
  banner: { js: `/* simcli view ${hash.digest('hex')}; three.js r187, MIT: LICENSE-three.txt */` },
})
copyFileSync('node_modules/three/LICENSE', 'bundled/LICENSE-three.txt')
