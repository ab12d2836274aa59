import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)
const MINUTES = 60_000

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** A project of somebody else: the packed client, installed outside the repository, and a program. */
export async function installClient(t: Cleanup): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-integrator-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const pack = [join(ROOT, 'packages/client/pack.ts'), folder]
  const { stdout } = await run(process.execPath, pack, { timeout: 3 * MINUTES })
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const quiet = ['--offline', '--no-audit', '--no-fund', '--silent']
  await run('npm', ['install', ...quiet, stdout.trim()], { cwd: folder, timeout: 2 * MINUTES })
  await copyFile(join(import.meta.dirname, 'program.ts'), join(folder, 'program.ts'))
  return folder
}

const STRICTEST = {
  strict: true,
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2022', 'dom'],
  types: [],
  // Our declarations are checked too.
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
}

/** Checks the program against the installed declarations, and compiles it. */
export async function compileProgram(folder: string): Promise<void> {
  const settings = { compilerOptions: STRICTEST, files: ['program.ts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [compiler, '-p', folder], { timeout: 2 * MINUTES }).catch((error) => {
    throw new Error(error.stdout)
  })
}

/** Runs the compiled program with a Node and returns what it returned. */
export async function runProgram(node: string, folder: string, given: unknown[]) {
  const script = `const { main } = await import('./program.js')
console.log(JSON.stringify(await main(...JSON.parse(process.argv[1]))))`
  const words = ['--input-type=module', '-e', script, JSON.stringify(given)]
  const { stdout } = await run(node, words, { cwd: folder, timeout: 2 * MINUTES })
  return JSON.parse(stdout) as unknown[]
}

/** A Node 20: this machine's own, or the npm package of it. Throws where there is neither. */
export async function oldNode(): Promise<string> {
  const folders = (process.env.PATH ?? '').split(delimiter)
  for (const path of globSync(folders.map((folder) => join(folder, 'node')))) {
    const { stdout } = await run(path, ['--version']).catch(() => ({ stdout: '' }))
    if (stdout.startsWith('v20.')) return path
  }
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(ROOT, '.cache/node-20')
  await mkdir(folder, { recursive: true })
  const quiet = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...quiet, `${name}@20.20.2`], { timeout: 5 * MINUTES })
  return join(folder, 'node_modules', name, 'bin/node')
}
