import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPostgresPrograms, type PostgresPrograms } from './postgres-programs.ts'

/** A PostgreSQL of our own, empty, in a temporary folder, that dies with this process. */
type PostgresServer = { url: string; pid: number; stop(): Promise<void> }

// fsync stays on: the tests that kill a process mid-write are about durability.
const SERVER_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: '64MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '512MB',
  checkpoint_timeout: '30min',
  jit: 'off',
  log_min_messages: 'log', // Leaves out errors, which clients receive, but not the ready message.
}

// The shell outlives us by a moment: when it is told to stop, or we die in any way, it stops the
// server and removes the folder, so that not even a killed test run leaves anything behind.
const SUPERVISOR = `
trap 'kill -QUIT $server 2>/dev/null' TERM INT HUP
"$0" "$@" & server=$!
while kill -0 $server 2>/dev/null; do wait $server; done
rm -rf "$TEST_FOLDER"
`

export async function startPostgres(
  programs: PostgresPrograms | undefined = findPostgresPrograms(),
): Promise<PostgresServer> {
  if (!programs) throw new Error('No PostgreSQL: neither the npm package nor one on this machine.')
  for (let attempt = 1; ; attempt++) {
    const folder = mkdtempSync(join(tmpdir(), 'plinth-postgres-'))
    try {
      return await startIn(folder, programs)
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      // Another process may have taken the free port in the meantime.
      if (attempt === ATTEMPTS || !/Address already in use/.test(String(error))) throw error
    }
  }
}

const ATTEMPTS = 5

async function startIn(folder: string, programs: PostgresPrograms): Promise<PostgresServer> {
  const password = randomBytes(12).toString('hex')
  const env = { ...programs.prepare(folder), LC_ALL: 'C.UTF-8', TEST_FOLDER: folder }
  const run = { env: { PATH: process.env.PATH, ...env }, cwd: folder }
  const [user, ...unprivileged] = [...asOrdinaryUser(folder), 'env']
  const program = (name: string) => join(programs.folder, name)

  writeFileSync(join(folder, 'password'), password)
  const initdb = [...unprivileged, program('initdb'), '--no-sync', '-D', 'db', '-U', 'plinth']
  initdb.push('--encoding=UTF8', '--locale=C.UTF-8', '--auth=password', '--pwfile=password')
  await promisify(execFile)(user ?? 'env', initdb, run)

  const port = await freePort()
  const settings = Object.entries({ ...SERVER_SETTINGS, port }).map(
    ([key, value]) => `${key}=${value}`,
  )
  const postgres = [program('postgres'), '-D', 'db', ...settings.flatMap((pair) => ['-c', pair])]
  const supervisor = [...diesWithParent(), 'sh', '-c', SUPERVISOR, ...postgres]
  const child = spawn(user ?? 'env', [...unprivileged, ...supervisor], {
    ...run,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true, // Ctrl-C is for the test run, which stops this server last.
  })
  await readyToAccept(child)
  return {
    url: `postgres://plinth:${password}@127.0.0.1:${port}/postgres`,
    ...handle(child, folder),
  }
}

function handle(child: ChildProcess, folder: string) {
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.ref()
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
  return { pid: child.pid ?? 0, stop }
}

// PostgreSQL refuses to run as root. A user namespace makes root an ordinary user without
// touching the owner of any file; where namespaces are forbidden the folder is given to user 65534.
export function asOrdinaryUser(folder: string): string[] {
  if (process.getuid?.() !== 0) return []
  const namespace = ['unshare', '--user', '--map-user=65534', '--map-group=65534']
  if (spawnSync('unshare', [...namespace.slice(1), 'true']).status === 0) return namespace
  spawnSync('chown', ['-R', '65534:65534', folder])
  chmodSync(folder, 0o700)
  return ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
}

function diesWithParent(): string[] {
  const available = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0
  return available ? ['setpriv', '--pdeathsig', 'TERM'] : []
}

async function readyToAccept(child: ChildProcess): Promise<void> {
  const errors = child.stderr as Socket
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  const listen = (chunk: Buffer) => {
    output += chunk
    if (output.includes('ready to accept connections')) resolve()
  }
  errors.on('data', listen)
  errors.once('close', () => reject(new Error(`PostgreSQL did not start:\n${output}`)))
  await ready
  // Unread output would fill the pipe and block the server in the middle of a statement.
  errors
    .off('data', listen)
    .on('data', () => {})
    .unref()
  child.unref()
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
