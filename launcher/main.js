// Plain JavaScript: this file is loaded before the cache is on, and by any Node there is. With the
// cache, the types of all the others were stripped by an earlier start, which saves time and memory.
import { keepCompiledCode } from './compile-cache.js'

const OLDEST_NODE = 26

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  const found = `This is Node ${process.versions.node}; Plinth needs ${OLDEST_NODE} or later.`
  console.error(`✖ ${found} Use "npm start": the right one comes with the packages.`)
  process.exit(69)
}

keepCompiledCode()
await import('./command.ts')
