#!/usr/bin/env node
// Plain JavaScript, so that any version of Node can load it and the compile cache is on before the first
// TypeScript file is loaded.
import { keepCompiledCode } from '../launcher/compile-cache.js'

const OLDEST_NODE = 26

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  const found = `This is Node ${process.versions.node}; Plinth needs ${OLDEST_NODE} or later.`
  console.error(`✖ ${found} Use "npm run plinth --", which uses the Node in node_modules.`)
  process.exit(69)
}

keepCompiledCode()
const { runPlinth } = await import('./plinth.ts')
await runPlinth(process.argv.slice(2))
