import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { asOrdinaryUser } from '../../packages/kit/testing/databases/postgres.ts'
import { until } from '../until.ts'
import { debianProgram } from './debian.ts'
import { freePorts } from './free-ports.ts'

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** Why PgBouncer cannot run on this machine, or `false`. */
export async function pgBouncerMissing(): Promise<string | false> {
  return debianProgram('pgbouncer').then(
    () => false as const,
    (error: Error) => `no PgBouncer: ${error.message}`,
  )
}

/** `knowsNames`: whether it supports named prepared statements, as it does since version 1.21. */
export type PgBouncer = { host: string; knowsNames: boolean }

/** Debian's PgBouncer in transaction mode in front of a PostgreSQL server, configured as in `docs/postgres.md`. */
export async function startPgBouncer(
  t: Cleanup,
  serverUrl: string,
  { withNames = true }: { withNames?: boolean } = {},
): Promise<PgBouncer> {
  const { path, env } = await debianProgram('pgbouncer')
  const { stdout } = await promisify(execFile)(path, ['--version'], { env })
  const knowsNames = Number(/^PgBouncer 1\.(\d+)/.exec(stdout)?.[1]) >= 21
  const [port = 0] = await freePorts(1)
  const folder = mkdtempSync(join(tmpdir(), 'plinth-pgbouncer-'))
  const file = join(folder, 'pgbouncer.ini')
  const names = knowsNames ? [`max_prepared_statements = ${withNames ? 200 : 0}`] : []
  writeFileSync(file, configuration(new URL(serverUrl), port, names))
  chmodSync(folder, 0o755)
  const [program = path, ...args] = [...asOrdinaryUser(folder), path, '-q', file]
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  await until(
    async () => child.exitCode !== null || (await accepts(port)),
    (over) => over,
  )
  if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${complaints}`)
  return { host: `127.0.0.1:${port}`, knowsNames: knowsNames && withNames }
}

/** `auth_type = any`: every client connects as the only user of the server. */
function configuration(
  { hostname, port, username, password }: URL,
  ownPort: number,
  more: string[],
): string {
  return `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 1000
server_idle_timeout = 1
${more.join('\n')}
`
}

async function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
    .on('connect', () => resolve(true))
    .on('error', () => resolve(false))
  const accepted = await promise
  socket.destroy()
  return accepted
}
