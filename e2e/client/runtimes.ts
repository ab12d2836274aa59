import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { freePorts } from '../../test/servers/free-ports.ts'
import { until } from '../../test/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)
const MINUTES = 60_000

/** A Node 20: the one on this machine, or its npm package. Throws if there is neither. */
export async function oldNode(): Promise<string> {
  const folders = (process.env.PATH ?? '').split(delimiter)
  for (const path of globSync(folders.map((folder) => join(folder, 'node')))) {
    const { stdout } = await run(path, ['--version']).catch(() => ({ stdout: '' }))
    if (stdout.startsWith('v20.')) return path
  }
  return fromNpm(`node-${process.platform}-${process.arch}`, '20.20.2', 'bin/node')
}

/** The Node of Ubuntu 22.04, which runs npm but little else. */
export function node12(): Promise<string> {
  return fromNpm(`node-${process.platform}-${process.arch}`, '12.22.12', 'bin/node')
}

export async function deno(): Promise<string[]> {
  const name = `@deno/${process.platform}-${process.arch}-glibc`
  return [await fromNpm(name, '2.9.6', 'deno'), 'run', '--no-remote', '--allow-net']
}

export async function bun(): Promise<string[]> {
  const processor = process.arch === 'arm64' ? 'aarch64' : process.arch
  const name = `@oven/bun-${process.platform}-${processor}`
  return [await fromNpm(name, '1.4.4', 'bin/bun')]
}

/** The runtime of Cloudflare's workers, which has only the globals of the web platform. */
export async function workerd(): Promise<string> {
  const processor = process.arch === 'x64' ? '64' : process.arch
  const name = `@cloudflare/workerd-${process.platform}-${processor}`
  return fromNpm(name, '1.20261104.1', 'bin/workerd')
}

/** Runtimes are large, so they are downloaded once, and only when this test runs. */
async function fromNpm(name: string, version: string, path: string): Promise<string> {
  const folder = join(ROOT, '.cache', `${name}-${version}`.replace('/', '-'))
  const program = join(folder, 'node_modules', name, path)
  if (existsSync(program)) return program
  await mkdir(folder, { recursive: true })
  const quiet = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...quiet, `${name}@${version}`], { timeout: 5 * MINUTES })
  return program
}

const WORKER = `import { main } from './program.js'
export default {
  fetch: async (request) => Response.json(await main(...(await request.json()))),
}`

const configOf = (port: number) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ( name = "main",
      worker = (
        modules = [(name = "worker", esModule = embed "worker-bundle.js")],
        compatibilityDate = "2026-01-01" ) ),
    (name = "internet", network = (allow = ["private", "local"])),
  ],
  sockets = [(name = "http", address = "localhost:${port}", http = (), service = "main")],
);`

/** Runs the compiled program in a worker that answers one request with its result. */
export async function runInWorker(program: string, folder: string, given: unknown[]) {
  const [port = 0] = await freePorts(1)
  await writeFile(join(folder, 'worker.js'), WORKER)
  await build({
    entryPoints: [join(folder, 'worker.js')],
    outfile: join(folder, 'worker-bundle.js'),
    bundle: true,
    format: 'esm',
  })
  await writeFile(join(folder, 'worker.capnp'), configOf(port))
  const worker = spawn(program, ['serve', 'worker.capnp'], { cwd: folder, stdio: 'inherit' })
  const ended = once(worker, 'exit')
  try {
    const request = { method: 'POST', body: JSON.stringify(given) }
    const send = () => fetch(`http://localhost:${port}`, request).catch(() => undefined)
    const reply = await until(send, (answer) => answer !== undefined)
    return (await reply?.json()) as unknown[]
  } finally {
    worker.kill()
    await ended
  }
}
