#!/usr/bin/env node
// Plain JavaScript: any version of Node can load it, and it switches the compile cache on before the
// first TypeScript file is loaded.
import { keepCompiledCode } from '../launcher/compile-cache.js'

const OLDEST_NODE = 26

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  const found = `This is Node ${process.versions.node}; Plinth needs ${OLDEST_NODE} or later.`
  console.error(`✖ ${found} Use "npm run plinth --": the right one comes with the packages.`)
  process.exit(69)
}

keepCompiledCode()
const { runPlinth } = await import('./plinth.ts')
await runPlinth(process.argv.slice(2))
