import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { verifyWebhook } from '@plinth/client'
import { startReceiver } from '@plinth/events/testing'
import { freePorts } from '../../test/servers/free-ports.ts'
import { until } from '../../test/until.ts'
import { readStream } from '../commands/events/read-stream.ts'
import { plinth, plinthHere, temporaryFolder } from './run-plinth.ts'
import { foldersOf, startService } from './start-payments.ts'

const MAIN = join(import.meta.dirname, '../main.js')
const SILENCE_MS = 1_000

function startListening(t: TestContext, env: Record<string, string>, words: string[]) {
  const child = spawn(process.execPath, [MAIN, 'listen', ...words], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on('line', (line) => lines.push(line))
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  t.after(kill)
  return { lines, kill }
}

/** The forwards that the service recorded, read with the key that `listen` keeps. */
async function forwardsOf(env: { SUITE_DATA: string; PAYMENTS_PORT: string }, id: string) {
  const { keys } = JSON.parse(readFileSync(join(env.SUITE_DATA, 'listen.json'), 'utf8'))
  const [[url, key] = []] = Object.entries<string>(keys)
  const headers = { authorization: `Bearer ${key}` }
  const reply = await fetch(`${url}/api/events/${id}`, { headers })
  const { forwards } = (await reply.json()) as { forwards: Forward[] }
  return forwards.map(({ n, url, status, error }) => [n, url, status, error])
}

type Forward = { n: number; url: string; status: number | null; error: string | null }

/** Sends this many comments, each well before the reader times out, and then nothing. */
async function startStream(t: TestContext, comments: number): Promise<string> {
  const server = createServer(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    for (let count = 0; count < comments; count++) {
      response.write(`: still here\nid: evt_${count}\n\n`)
      await pause(SILENCE_MS / 4)
    }
  })
  await once(server.listen(0, 'localhost'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

describe('plinth listen and plinth trigger', () => {
  test('forward events signed with one secret, and lose none across a kill', async (t) => {
    const env = await startService(t)
    const receiver = await startReceiver(t)
    const trigger = async (type: string) => {
      const { code, stdout, stderr } = await plinth(['trigger', type, '--json'], { env })
      assert.equal(code, 0, stderr)
      return JSON.parse(stdout).id as string
    }
    const { stdout: secret } = await plinth(['listen', '--print-secret'], { env })
    const first = await trigger('payment.paid')
    const listening = ['--forward-to', receiver.url, '--types', 'payment.paid,refund.failed']

    const listener = startListening(t, env, [...listening, '--since', '1h'])
    await until(
      () => listener.lines,
      (lines) => lines.some((line) => /^← 204 \d+ ms$/.test(line)),
    )
    await listener.kill()
    const second = await trigger('refund.failed')
    const again = startListening(t, env, listening)
    const delivered = await until(
      () => receiver.delivered,
      ({ length }) => length === 2,
    )

    assert.ok(listener.lines.includes(`→ payment.paid ${first}`), listener.lines.join('\n'))
    assert.deepEqual(
      delivered.map(({ id }) => id),
      [first, second],
    )
    for (const { headers, body, id } of delivered) {
      const event = await verifyWebhook({ secrets: secret.trim(), headers, body })
      assert.equal(event.id, id)
    }
    assert.deepEqual(
      delivered.map(({ body }) => JSON.parse(String(body)).data.status),
      ['PAID', 'failed'],
    )
    await again.kill()
    const replayed = await plinth(['listen', ...listening, '--replay', first], { env })
    assert.deepEqual([replayed.code, receiver.delivered[2]?.id], [0, first], replayed.stderr)
    assert.equal(receiver.delivered[2]?.body, delivered[0]?.body)
    assert.deepEqual(await forwardsOf(env, first), [
      [1, receiver.url, 204, null],
      [2, receiver.url, 204, null],
    ])
  })

  test('listen honours retry-after, and each listener resumes at its own cursor', {
    tags: ['all'],
  }, async (t) => {
    const asked: (string | undefined)[] = []
    const event = (id: string) => `id: ${id}\nevent: thing.made\ndata: {"type":"thing.made"}\n\n`
    const replies: [number, Record<string, string>, string][] = [
      [429, { 'retry-after': '1' }, '{}'],
      [200, {}, ': events follow\nid: evt_1\n\n'],
      [200, {}, `: events follow\n\nevent: gap\ndata: {}\n\n${event('evt_2')}`],
      [401, {}, '{}'],
    ]
    const service = createServer((request, response) => {
      if (request.method === 'POST') return response.writeHead(204).end()
      asked.push(request.headers['last-event-id'] as string | undefined)
      const [status, headers, body] = replies.shift() ?? [500, {}, '']
      response.writeHead(status, headers).end(body)
    })
    await once(service.listen(0, 'localhost'), 'listening')
    t.after(() => service.close())
    const { port } = service.address() as AddressInfo
    const [one, other] = [await startReceiver(t), await startReceiver(t)]
    const env = foldersOf(t)
    const listen = (to: string) =>
      plinth(['listen', '--url', `http://localhost:${port}`, '--forward-to', to], { env })

    const first = await listen(one.url)
    replies.push([200, {}, ': events follow\nid: evt_2\n\n'], [401, {}, '{}'], [401, {}, '{}'])
    const second = await listen(other.url)
    await listen(one.url)

    assert.deepEqual(
      one.delivered.map(({ id }) => id),
      ['evt_2'],
    )
    assert.deepEqual([first.code, second.code], [1, 1], first.stderr)
    assert.match(first.stderr, /^Events were deleted before they could be read\.$/m)
    assert.doesNotMatch(second.stderr, /deleted/)
    const ofFirst = [undefined, undefined, 'evt_1', 'evt_2']
    assert.deepEqual(asked, [...ofFirst, undefined, 'evt_2', 'evt_2'])
  })

  test('listen resumes after the last event of any type, not the last one that it forwarded', {
    tags: ['all'],
  }, async (t) => {
    const asked: (string | undefined)[] = []
    const event = 'id: evt_1\nevent: thing.made\ndata: {"type":"thing.made"}\n\n'
    const replies: [number, string][] = [
      [200, `: events follow\n\n${event}: still here\nid: evt_8\n\n`],
      [200, ': events follow\n\n: still here\nid: evt_9\n\n'],
      [401, '{}'],
    ]
    const service = createServer((request, response) => {
      if (request.method === 'POST') return response.writeHead(204).end()
      asked.push(request.headers['last-event-id'] as string | undefined)
      const [status, body] = replies.shift() ?? [401, '{}']
      response.writeHead(status).end(body)
    })
    await once(service.listen(0, 'localhost'), 'listening')
    t.after(() => service.close())
    const { port } = service.address() as AddressInfo
    const receiver = await startReceiver(t)
    const words = ['--url', `http://localhost:${port}`, '--forward-to', receiver.url]

    const { code, stderr } = await plinth(['listen', ...words, '--since', '1h'], {
      env: foldersOf(t),
    })

    assert.equal(code, 1, stderr)
    assert.deepEqual(asked, [undefined, 'evt_8', 'evt_9'])
  })

  test('the stream times out when the service is silent, but not while it sends comments', {
    tags: ['all'],
  }, async (t) => {
    const [silent, quiet] = [await startStream(t, 0), await startStream(t, 6)]
    const placesOf = async (url: string) => {
      const places: unknown[] = []
      try {
        for await (const place of readStream(url, {}, {}, SILENCE_MS)) places.push(place)
      } catch (error) {
        return { count: places.length, error: (error as Error).name }
      }
      return { count: places.length }
    }

    // One place for the reply itself, then one for each comment with an id.
    assert.deepEqual(await Promise.all([placesOf(silent), placesOf(quiet)]), [
      { count: 1, error: 'AbortError' },
      { count: 7, error: 'AbortError' },
    ])
  })

  test('the secret is kept per user, or in the data folder if the user has no home', async (t) => {
    const [one, other] = [foldersOf(t), foldersOf(t)]
    const secretOf = async (env: Record<string, string>) =>
      (await plinth(['listen', '--print-secret'], { env })).stdout.trim()
    const homeless = { ...other, XDG_STATE_HOME: '/dev/null' }

    const first = await secretOf(one)
    const [elsewhere, without] = await Promise.all([
      secretOf({ ...one, SUITE_DATA: temporaryFolder(t) }),
      secretOf(homeless),
    ])

    assert.match(first, /^whsec_/)
    assert.equal(elsewhere, first)
    assert.notEqual(without, first)
    assert.equal(await secretOf(homeless), without)
  })

  test('listen creates one key, and reports it if the service does not know it', {
    tags: ['all'],
  }, async (t) => {
    const env = await startService(t)
    const elsewhere = { ...env, SUITE_DATA: temporaryFolder(t) }

    const words = ['listen', '--forward-to', 'http://localhost:9']
    const { code, stderr } = await plinth(words, { env: elsewhere })

    assert.equal(code, 1)
    assert.match(stderr, /refuses the key that was just created/)
  })

  test('a replay says why it has no event', async (t) => {
    const env = await startService(t)
    const keyFile = join(temporaryFolder(t), 'key')
    const scope = ['--service', 'payments', '--scope', 'payments:read', '--json']
    const made = await plinthHere(['keys', 'create', 'till', ...scope], { env })
    writeFileSync(keyFile, JSON.parse(made.stdout).secret)
    const replay = (more: string[]) =>
      plinthHere(['listen', '--forward-to', 'http://localhost:9', '--replay', 'evt_1', ...more], {
        env,
      })
    const [unused] = await freePorts(1)

    const absent = await replay([])
    const forbidden = await replay(['--key-file', keyFile])
    const stopped = await replay(['--url', `http://localhost:${unused}`])

    assert.deepEqual([absent.code, forbidden.code, stopped.code], [1, 1, 69])
    assert.match(absent.stderr, /^There is no event evt_1 at http:\/\/localhost:\d+\.$/m)
    assert.match(forbidden.stderr, /^http:\/\/localhost:\d+ refuses: .*events:read/)
    assert.match(stopped.stderr, /^http:\/\/localhost:\d+ cannot be reached: ECONNREFUSED\.$/m)
  })

  test('report wrong arguments', async (t) => {
    const env = foldersOf(t)
    const to = ['--forward-to', 'http://localhost:9']
    const [silent, unknown, production, target, url, key] = await Promise.all([
      plinth(['trigger', 'file.uploaded', '--service', 'storage-key'], { env }),
      plinth(['trigger', 'payment.lost'], { env }),
      plinth(['trigger', 'payment.paid'], { env: { ...env, NODE_ENV: 'production' } }),
      plinth(['listen', '--forward-to', 'localhost:3000'], { env }),
      plinth(['listen', ...to, '--url', 'foo'], { env }),
      plinth(['listen', ...to, '--key-file', '/nowhere'], { env }),
    ])

    assert.deepEqual([unknown.code, production.code, target.code], [64, 1, 64])
    assert.deepEqual([url.code, key.code, silent.code], [64, 66, 64])
    assert.equal(silent.stderr, 'storage-key publishes no events.\n')
    assert.match(url.stderr, /^--url foo: expected an address such as https:/)
    assert.match(key.stderr, /^--key-file \/nowhere cannot be read: there is no such file\.$/m)
    assert.match(unknown.stderr, /payment\.lost: payments has payment\.created, payment\.paid/)
    assert.match(production.stderr, /look like a real one/)
    assert.match(target.stderr, /--forward-to http:\/\/localhost/)
  })
})
