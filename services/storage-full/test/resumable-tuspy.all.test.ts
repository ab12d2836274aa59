import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { unpackDebian } from '../../../test/servers/debian.ts'
import { engines, sharedStorage, temporaryFolder } from './start-storage.ts'
import { textOf } from './tus-client.ts'

const SCRIPT = join(import.meta.dirname, 'tuspy-client.py')
const PYTHON = '/usr/bin/python3' // Debian's own: the packages are built for it
const PATIENCE_MS = 60_000
const CHUNK_BYTES = 100_000

/** The folder with tuspy and what it needs, or why it cannot be had. */
async function findTuspy(): Promise<{ folder: string } | { missing: string }> {
  if (!existsSync(PYTHON)) return { missing: `tuspy needs ${PYTHON} (Debian)` }
  try {
    const { root } = await unpackDebian('python3-tuspy')
    return { folder: join(root, 'usr/lib/python3/dist-packages') }
  } catch (error) {
    return { missing: `no tuspy: ${(error as Error).message}` }
  }
}

const found = await findTuspy()

type Seen = { offsets: number[]; fileId?: string; status?: number }

/** Runs tuspy in a program of its own, and returns what it saw. */
async function runTuspy(task: object): Promise<Seen> {
  const child = spawn(PYTHON, [SCRIPT], {
    env: { PATH: process.env.PATH, PYTHONPATH: 'folder' in found ? found.folder : '' },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: PATIENCE_MS,
  })
  child.stdin.end(JSON.stringify(task))
  return JSON.parse(Buffer.concat(await child.stdout.toArray()).toString())
}

/** Passes everything on, and changes one bit of the first piece. */
async function startFaultyLine(t: TestContext, target: string): Promise<string> {
  let isSpoiled = false
  const line = createServer(async (incoming, reply) => {
    const body = Buffer.concat(await incoming.toArray())
    if (incoming.method === 'PATCH' && !isSpoiled) {
      isSpoiled = true
      body.writeUInt8(body.readUInt8(5000) ^ 1, 5000)
    }
    const { method, headers } = incoming
    const passed = request(`${target}${incoming.url}`, { method, headers }, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(reply)
    })
    passed.end(body)
  })
  await once(line.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    line.closeAllConnections()
    line.close()
  })
  return `http://127.0.0.1:${(line.address() as AddressInfo).port}`
}

for (const engine of engines)
  describe(`tuspy, unmodified, on ${engine.name}`, {
    ...engine.options,
    skip: engine.options.skip || ('missing' in found && found.missing),
  }, () => {
    const shared = sharedStorage(engine)
    const start = async (t: TestContext, via = async (baseUrl: string) => baseUrl) => {
      const { api, user: token, baseUrl } = await shared.newcomer()
      const folder = await temporaryFolder(t)
      const bytes = textOf(350_000)
      const path = join(folder, 'a.txt')
      await writeFile(path, bytes)
      const task = {
        endpoint: `${await via(baseUrl)}/file/uploads`,
        addresses: join(folder, 'addresses.json'),
        chunkSize: CHUNK_BYTES,
        filename: 'a.txt',
        ...{ token, path },
      }
      const requireStored = async ({ fileId }: Seen) => {
        const { body: files } = await api.get('/file/list', { token })
        assert.deepEqual([String(files[0]?.id), files.length], [fileId, 1])
        const stored = await api.get(`/file/download/${fileId}`, { token })
        assert.ok(stored.bytes.equals(bytes))
      }
      return { task, requireStored }
    }

    test('uploads in pieces, each with a checksum', async (t) => {
      const { task, requireStored } = await start(t)

      const seen = await runTuspy(task)

      assert.deepEqual(seen.offsets, [0, 350_000])
      await requireStored(seen)
    })

    test('goes on where it stopped, with the address that it kept', async (t) => {
      const { task, requireStored } = await start(t)

      const seen = await runTuspy({ ...task, stopAfter: 2 })

      assert.deepEqual(seen.offsets, [2 * CHUNK_BYTES, 350_000])
      await requireStored(seen)
    })

    test('a piece that was changed on its way is 460; sent again, the file is whole', async (t) => {
      const given = await start(t, (baseUrl) => startFaultyLine(t, baseUrl))
      const retrying = await start(t, (baseUrl) => startFaultyLine(t, baseUrl))

      const refused = await runTuspy(given.task)
      const seen = await runTuspy({ ...retrying.task, retries: 1 })

      assert.equal(refused.status, 460)
      await retrying.requireStored(seen)
    })
  })
