import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import { type ConsoleName, consoleFolder } from './index.ts'

/** What a console loads only when it draws a QR code. */
const QR_CODES = { 'qr-squares': 'shared/components/qr-squares.ts' }

/** `source`: the folder of the page, if it differs from the name of the console. */
type Description = {
  title: string
  about: string
  colour: string
  source?: string
  /** More programs of the page, loaded when someone asks for them, by name: their files in this folder. */
  later?: Record<string, string>
  /** What the page imports when someone opens it is in files of its own. */
  splits?: boolean
}

const CONSOLES: Record<ConsoleName, Description> = {
  identity: {
    title: 'Identity console · Plinth',
    about: 'Sign in, register, refresh, passkeys and users, shown request by request.',
    colour: '4f55c9',
    later: QR_CODES,
    splits: true,
  },
  account: {
    title: 'Your account',
    about: 'Your second factor, devices, e-mail address, password and data.',
    colour: '4f55c9',
    source: 'identity/account',
    later: QR_CODES,
  },
  'storage-full': {
    title: 'Storage workbench · Plinth',
    about: 'Upload, preview, share and administer files, shown request by request.',
    colour: '0b7a6f',
    later: QR_CODES,
    splits: true,
  },
  'storage-key': {
    title: 'Key storage tester · Plinth',
    about: 'Upload, list, download and delete files with one API key.',
    colour: 'a3590c',
  },
  payments: {
    title: 'Payments console · Plinth',
    about: 'Checkout, payments, refunds and webhooks, shown request by request.',
    colour: '8a3fb0',
  },
  sandbox: {
    title: 'Sandbox provider · Plinth',
    about: 'Pay, refund, move the clock and make calls fail at the sandbox provider.',
    colour: '1f5f99',
  },
  reference: {
    title: 'API reference · Plinth',
    about: 'Every operation of this service: its parameters, its responses, and a form to try it.',
    colour: '57534e',
  },
  health: {
    title: 'Health · Plinth',
    about: 'Rates, times, failures, queues and disk of the last hour.',
    colour: '57534e',
    source: 'landing/health',
  },
  landing: {
    title: 'Plinth',
    about: 'Identity, storage and payments: the services running here.',
    colour: '57534e',
    splits: true,
  },
}

const CONSOLE_NAMES = Object.keys(CONSOLES) as ConsoleName[]

const GZIP_BUDGETS: Record<string, number> = { 'page.js': 55_000, 'page.css': 10_000 }
/** Together with its stylesheet the reference stays below 40 kB. */
const REFERENCE_BUDGETS = { ...GZIP_BUDGETS, 'page.js': 31_000 }

type Files = Record<string, Uint8Array>

const faults = await Promise.all(
  CONSOLE_NAMES.map(async (name) => {
    const { files, first } = await bundle(name)
    replaceFiles(consoleFolder(name), files)
    return overBudget(name, files, first)
  }),
)
for (const fault of faults.flat()) console.error(fault)
if (faults.flat().length > 0) process.exitCode = 1

/** The files of a page, and the names of the scripts that it cannot start without. */
async function bundle(name: ConsoleName): Promise<{ files: Files; first: string[] }> {
  const { source = name, later = {}, splits = false } = CONSOLES[name]
  const entries = Object.entries({ page: `${source}/page.tsx`, ...later })
  const { outputFiles, metafile } = await build({
    entryPoints: entries.map(([out, file]) => ({
      in: join(import.meta.dirname, file),
      out,
    })),
    outdir: consoleFolder(name),
    write: false,
    bundle: true,
    splitting: splits,
    chunkNames: '[name]-[hash]',
    metafile: true,
    minify: true,
    format: 'esm',
    target: 'esnext',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  })
  const bundled = outputFiles.map(({ path, contents }) => [basename(path), contents])
  return {
    files: { ...Object.fromEntries(bundled), 'index.html': Buffer.from(documentOf(name)) },
    first: scriptsOf('page.js', metafile),
  }
}

/** A script, and those that it imports before it runs. */
function scriptsOf(name: string, { outputs }: Metafile, known = new Set<string>()): string[] {
  const output = Object.entries(outputs).find(([path]) => basename(path) === name)?.[1]
  known.add(name)
  for (const { path, kind } of output?.imports ?? [])
    if (kind === 'import-statement' && !known.has(basename(path)))
      scriptsOf(basename(path), { inputs: {}, outputs }, known)
  return [...known]
}

/** Renames files into place, so that a starting service or a second build never sees half a file. */
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

function overBudget(name: ConsoleName, files: Files, first: string[]): string[] {
  const budgets = name === 'reference' ? REFERENCE_BUDGETS : GZIP_BUDGETS
  const sizeOf = (file: string) => gzipSync(files[file] ?? '', { level: 9 }).length
  return Object.entries(budgets).flatMap(([file, budget]) => {
    const loaded = file === 'page.js' ? first : [file]
    const size = loaded.map(sizeOf).reduce((sum, one) => sum + one, 0)
    if (process.argv.includes('--sizes')) console.log(`${name}/${file} ${size} bytes gzipped`)
    if (size <= budget) return []
    return [`${name}/${file} is ${size} bytes gzipped; the budget is ${budget}.`]
  })
}

/** The HTML document of a console: its name, its colour, and no inline code. */
function documentOf(name: ConsoleName): string {
  const { title, about, colour } = CONSOLES[name]
  const base = name === 'landing' ? '.' : '..'
  return `<!doctype html>
<html lang="en" data-service="${name}" data-base="${base}">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="description" content="${about}" />
    <title>${title}</title>
    <link
      rel="icon"
      href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%23${colour}' d='M7 3h10v3H7zm1.5 4h7v9h-7zM6 17h12v2H6zm-2 3h16v2H4z'/%3E%3C/svg%3E"
    />
    <link rel="stylesheet" href="page.css" />
    <script type="module" src="page.js"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>This page needs JavaScript: it calls the service from your browser.</noscript>
  </body>
</html>
`
}
