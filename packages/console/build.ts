import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { CONSOLE_NAMES, documentOf } from './document.ts'
import { type ConsoleName, consoleFolder } from './index.ts'

const BUDGETS = [
  { file: 'page.js', gzipBytes: 45_000 },
  { file: 'page.css', gzipBytes: 10_000 },
]

await Promise.all(CONSOLE_NAMES.map(bundle))
const faults = CONSOLE_NAMES.flatMap(overBudget)
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1

async function bundle(name: ConsoleName): Promise<void> {
  const folder = consoleFolder(name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await build({
    entryPoints: [join(import.meta.dirname, name, 'page.tsx')],
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'esnext',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  })
  writeFileSync(join(folder, 'index.html'), documentOf(name))
}

function overBudget(name: ConsoleName): string[] {
  return BUDGETS.flatMap(({ file, gzipBytes }) => {
    const size = gzipSync(readFileSync(join(consoleFolder(name), file)), { level: 9 }).length
    if (process.argv.includes('--sizes')) console.log(`${name}/${file} ${size} bytes gzipped`)
    if (size <= gzipBytes) return []
    return [`${name}/${file} is ${size} bytes gzipped; the budget is ${gzipBytes}.`]
  })
}
