import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { get } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePorts } from '../../test/servers/free-ports.ts'
import { until } from '../../test/until.ts'
import { launch, lineOf } from './launch.ts'
import { testEnv } from './test-env.ts'

const CONNECTIONS = 500
const FILES = 600
const ROUNDS = 15
const MAX_MS = 1_000
const PATIENCE_MS = 20_000
const KINDS = ['', '/liveness', '/readiness']

test(`health is answered in under a second while ${CONNECTIONS} connections are busy`, async (t) => {
  const { service, operators } = await startStorage(t)
  const token = await logIn(service)
  for (let count = 0; count < FILES; count += 50)
    await Promise.all(Array.from({ length: 50 }, () => upload(service, token)))
  const load = await keepBusy(t, service, token)

  // These are the first health requests, so no earlier answer is cached.
  const waits: number[] = []
  for (let round = 0; round < ROUNDS; round++)
    for (const kind of KINDS) waits.push(await timed(`${operators}/actuator/health${kind}`))

  const slowest = Math.max(...waits)
  t.diagnostic(`the slowest of ${waits.length} answers took ${slowest} ms`)
  assert.ok(slowest < MAX_MS, `${slowest} ms`)
  await until(load.answered, (count) => count > 0)
})

async function startStorage(t: TestContext) {
  const [port] = await freePorts(1)
  const { env, folder } = await testEnv(t, {
    SUITE_MANAGEMENT_PORT: String(port),
    LOG_LEVEL: 'info',
  })
  const child = launch(t, { env, folder, args: ['storage-full'] })
  const { url } = JSON.parse(await lineOf(child, /"msg":"listening"/))
  return { service: url as string, operators: `http://127.0.0.1:${port}` }
}

async function logIn(service: string): Promise<string> {
  const reply = await fetch(`${service}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'user', password: 'password123123' }),
  })
  return ((await reply.json()) as { accessToken: string }).accessToken
}

async function upload(service: string, token: string): Promise<void> {
  const body = new FormData()
  body.append('file', new File(['hello'], 'a.txt', { type: 'text/plain' }))
  const headers = { authorization: `Bearer ${token}` }
  const reply = await fetch(`${service}/file`, { method: 'POST', headers, body })
  assert.equal(reply.status, 201, await reply.text())
}

/** Returns once all connections are open. */
async function keepBusy(t: TestContext, service: string, token: string) {
  const script = join(import.meta.dirname, 'keep-busy.ts')
  const child = spawn(process.execPath, [script, service, token, String(CONNECTIONS)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => void child.kill('SIGKILL'))
  let answered = 0
  child.stdout.on('data', (chunk) => {
    answered += String(chunk).split('answered').length - 1
  })
  await lineOf(child, /busy/)
  return { answered: () => answered }
}

/** The response time in milliseconds; fails on a status other than 200 or on a timeout. */
async function timed(url: string): Promise<number> {
  const begun = performance.now()
  const signal = AbortSignal.timeout(PATIENCE_MS)
  const status = await new Promise((resolve, reject) => {
    get(url, { agent: false, signal }, (reply) => {
      reply.resume().once('end', () => resolve(reply.statusCode))
    }).once('error', reject)
  })
  assert.equal(status, 200, url)
  return Math.round(performance.now() - begun)
}
