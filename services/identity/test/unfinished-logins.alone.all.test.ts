import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import { spawnService } from '@plinth/kit/testing'
import { ADMIN, MASTER_KEY } from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const LOGINS = 1_500
const MAX_BYTES = 300e6
const CONNECT_TIMEOUT_MS = 60_000

/** The body limit of a login. */
const BODY_BYTES = 16 * 1024

test(`${LOGINS} unfinished login requests take less than 300 MB`, {
  skip: tooFewOpenFiles(),
}, async (t) => {
  const service = await spawnService(t, MAIN, {
    SUITE_DATA: tmpdir(),
    IDENTITY_PORT: '0',
    IDENTITY_MASTER_KEY: MASTER_KEY,
    IDENTITY_DATABASE_URL: 'sqlite::memory:',
    IDENTITY_MAX_CONNECTIONS_PER_ADDRESS: String(2 * LOGINS),
    ...cheapHashing('IDENTITY_'),
  })
  const port = Number(new URL(service.baseUrl).port)

  for (let count = 0; count < LOGINS; count += 25)
    await Promise.all(Array.from({ length: 25 }, () => beginLogin(t, port)))
  const { status } = await service.api.post('/api/auth/login', ADMIN)

  const bytes = peakBytes(service.process.pid)
  t.diagnostic(`${Math.round(bytes / 1e6)} MB at most`)
  assert.equal(status, 200)
  assert.ok(bytes < MAX_BYTES, `${bytes}`)
})

/** Sends all but the last byte and keeps the connection open. Resolves when it was sent or refused. */
async function beginLogin(t: TestContext, port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  const closed = once(socket, 'close')
  const refused = once(
    socket.on('error', () => {}),
    'data',
  )
  await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) })
  const head = `POST /api/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${BODY_BYTES}\r\n\r\n`
  const sent = new Promise((resolve) => {
    socket.write(head)
    socket.write(Buffer.alloc(BODY_BYTES - 1, ' '), resolve)
  })
  await Promise.race([sent, refused, closed])
}

/** The peak resident memory of a process. */
function peakBytes(pid: number | undefined): number {
  const [, kibibytes] =
    /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) * 1024
}

function tooFewOpenFiles(): string | false {
  if (process.platform !== 'linux') return 'reads the memory of a process from /proc'
  const [, allowed] =
    /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return Number(allowed) < LOGINS + 500 && `${allowed} open files are allowed: ulimit -n 4096`
}
