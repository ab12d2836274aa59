import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, get, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type SpawnedService, spawnService } from '@plinth/kit/testing'
import { logIn, storageEnv, temporaryFolder, upload } from './start-storage.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const CONNECTIONS = 500
const FILES = 600
const ASKED = 20
const LONGEST_MS = 1_000

test(`health costs under 1 s of the processor while ${CONNECTIONS} connections are busy`, {
  skip: process.platform !== 'linux',
}, async (t) => {
  const service = await spawnService(t, MAIN, {
    ...storageEnv(await temporaryFolder(t)),
    LOG_LEVEL: 'info',
  })
  const token = await logIn(service.api, 'user')
  for (let count = 0; count < FILES; count += 50)
    await Promise.all(Array.from({ length: 50 }, () => upload(service.api, token)))
  // As a load balancer does: it has asked before.
  await timed(service, '/readiness')
  const load = keepBusy(t, service, token)
  await load.allConnected

  const waits: { cpuMs: number; wallMs: number }[] = []
  for (let asked = 0; asked < ASKED; asked++)
    for (const path of ['/liveness', '/readiness', '']) waits.push(await timed(service, path))

  const longest = (name: 'cpuMs' | 'wallMs') => Math.max(...waits.map((wait) => wait[name]))
  t.diagnostic(`longest: ${longest('cpuMs')} ms of its processor, ${longest('wallMs')} ms by clock`)
  assert.ok(load.answered() > 0)
  assert.ok(longest('cpuMs') < LONGEST_MS, JSON.stringify(waits))
})

/** How long the answer took, and how much of that the service was at work: other programs do not count. */
async function timed({ baseUrl, process }: SpawnedService, path: string) {
  const [cpuBefore, begun] = [mainThreadMs(process.pid), performance.now()]
  const status = await new Promise((resolve, reject) => {
    get(`${baseUrl}/actuator/health${path}`, { agent: false }, (reply) => {
      reply.resume().once('end', () => resolve(reply.statusCode))
    }).once('error', reject)
  })
  assert.equal(status, 200)
  return {
    cpuMs: mainThreadMs(process.pid) - cpuBefore,
    wallMs: Math.round(performance.now() - begun),
  }
}

const TICK_MS = 10

/** User and system time of a process's first thread. */
function mainThreadMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return TICK_MS * (Number(fields[11]) + Number(fields[12]))
}

const MEGABYTE = Buffer.concat([
  Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'),
  Buffer.from('Content-Type: text/plain\r\n\r\n'),
  Buffer.alloc(1_000_000, 'a'),
  Buffer.from('\r\n--b--\r\n'),
])

/** Each connection asks for the whole list again and again, every fifth sends a megabyte. */
function keepBusy(t: TestContext, { baseUrl }: SpawnedService, token: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const authorization = `Bearer ${token}`
  const form = { 'content-type': 'multipart/form-data; boundary=b' }
  let [stopped, answered, connected] = [false, 0, 0]
  const { promise: allConnected, resolve } = Promise.withResolvers<void>()
  const send = (sends: boolean) => {
    if (stopped) return
    const asked = sends
      ? request(`${baseUrl}/file`, {
          method: 'POST',
          agent,
          headers: { authorization, ...form, 'content-length': MEGABYTE.length },
        })
      : request(`${baseUrl}/file/list`, { agent, headers: { authorization } })
    asked.once('socket', (socket) => {
      if (!socket.connecting) return
      socket.once('connect', () => {
        connected += 1
        if (connected === CONNECTIONS) resolve()
      })
    })
    asked.once('response', (reply) => {
      reply.resume().once('end', () => {
        answered += 1
        send(sends)
      })
    })
    asked.on('error', () => {})
    asked.end(sends ? MEGABYTE : undefined)
  }
  for (let count = 0; count < CONNECTIONS; count++) send(count % 5 === 0)
  t.after(() => {
    stopped = true
    agent.destroy()
  })
  return { allConnected, answered: () => answered }
}
