import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)
const MINUTES = 60_000

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** An integrator's project: the packed client, installed outside the repository, and a program. */
export async function installClient(t: Cleanup): Promise<{ folder: string; tarball: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-integrator-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const pack = [join(ROOT, 'packages/client/pack.ts'), folder]
  const { stdout } = await run(process.execPath, pack, { timeout: 3 * MINUTES })
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const quiet = ['--offline', '--no-audit', '--no-fund', '--silent']
  const tarball = stdout.trim()
  await run('npm', ['install', ...quiet, tarball], { cwd: folder, timeout: 2 * MINUTES })
  await copyFile(join(import.meta.dirname, 'program.ts'), join(folder, 'program.ts'))
  return { folder, tarball }
}

const STRICTEST = {
  strict: true,
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2022', 'dom'],
  types: [],
  // So that our declarations are checked, too.
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
}

/** Type-checks the program against the installed declarations and compiles it. */
export async function compileProgram(folder: string): Promise<void> {
  const settings = { compilerOptions: STRICTEST, files: ['program.ts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [compiler, '-p', folder], { timeout: 2 * MINUTES }).catch((error) => {
    throw new Error(error.stdout)
  })
}

const RUN = `import { main } from './program.js'
console.log(JSON.stringify(await main(...JSON.parse(process.argv.at(-1)))))`

/** Runs the compiled program with a runtime, such as `deno run`, and returns what it returned. */
export async function runProgram(runtime: string[], folder: string, given: unknown[]) {
  const [program = '', ...words] = runtime
  await writeFile(join(folder, 'run.js'), RUN)
  const { stdout } = await run(program, [...words, 'run.js', JSON.stringify(given)], {
    cwd: folder,
    timeout: 2 * MINUTES,
  })
  return JSON.parse(stdout) as unknown[]
}
