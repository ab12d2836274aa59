import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { CONSOLE_NAMES, documentOf } from './document.ts'
import { type ConsoleName, consoleFolder } from './index.ts'

const GZIP_BUDGETS: Record<string, number> = { 'page.js': 45_000, 'page.css': 10_000 }

type Files = Record<string, Uint8Array>

const faults = await Promise.all(
  CONSOLE_NAMES.map(async (name) => {
    const files = await bundle(name)
    replaceFiles(consoleFolder(name), files)
    return overBudget(name, files)
  }),
)
for (const fault of faults.flat()) console.error(fault)
if (faults.flat().length > 0) process.exitCode = 1

async function bundle(name: ConsoleName): Promise<Files> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, name, 'page.tsx')],
    outdir: consoleFolder(name),
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'esnext',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  })
  const bundled = outputFiles.map(({ path, contents }) => [basename(path), contents])
  return { ...Object.fromEntries(bundled), 'index.html': Buffer.from(documentOf(name)) }
}

/** Renames into place: a service that starts, or a second build, never sees half a file. */
function replaceFiles(folder: string, files: Files): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, contents] of Object.entries(files)) {
    const draft = `${folder}.${process.pid}.${name}`
    writeFileSync(draft, contents)
    renameSync(draft, join(folder, name))
  }
  for (const name of readdirSync(folder))
    if (!files[name]) rmSync(join(folder, name), { recursive: true, force: true })
}

function overBudget(name: ConsoleName, files: Files): string[] {
  return Object.entries(GZIP_BUDGETS).flatMap(([file, budget]) => {
    const size = gzipSync(files[file] ?? '', { level: 9 }).length
    if (process.argv.includes('--sizes')) console.log(`${name}/${file} ${size} bytes gzipped`)
    if (size <= budget) return []
    return [`${name}/${file} is ${size} bytes gzipped; the budget is ${budget}.`]
  })
}
