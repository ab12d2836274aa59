import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** Debian's PgBouncer in transaction mode before a PostgreSQL server, configured as `docs/postgres.md` says. */
export async function startPgBouncer(t: Cleanup, serverUrl: string): Promise<{ host: string }> {
  const { path, env } = await debianProgram('pgbouncer')
  const [port = 0] = await freePorts(1)
  const folder = mkdtempSync(join(tmpdir(), 'plinth-pgbouncer-'))
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, configuration(new URL(serverUrl), port))
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
  return { host: `127.0.0.1:${port}` }
}

/** `auth_type = any`: every client connects as the one user of the server. */
function configuration({ hostname, port, username, password }: URL, ownPort: number): string {
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
