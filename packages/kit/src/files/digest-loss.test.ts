import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import workerThreads, { type Worker } from 'node:worker_threads'
import { listenForTest } from '../../testing/listen.ts'
import { openFiles } from '../../testing/open-files.ts'
import { createServer } from '../http/server.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/logging.ts'
import { acceptUploads, receiveUpload } from './upload.ts'

/** Enough for the thread, and all of it received by the time the loss is noticed. */
const CONTENT = Buffer.alloc(700 * 1024, 'plinth ')

async function startReceiver(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-digest-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const log = createLogger('test', 'silent')
  const server = createServer({ log, clock: systemClock })
  acceptUploads(server, /^multipart\//)
  const limits = { folder, maxFileBytes: 2 ** 24, maxRequestBytes: 2 ** 24, sha256: true }
  server.post('/file', async ({ raw }, reply) => {
    await using upload = await receiveUpload(raw, reply.raw, limits)
    return { sha256: upload.sha256 }
  })
  const { port } = await listenForTest(t, server)
  const upload = () => {
    const body = new FormData()
    body.set('file', new Blob([CONTENT]), 'a.txt')
    return fetch(`http://127.0.0.1:${port}/file`, { method: 'POST', body })
  }
  const opened = () => openFiles().filter(({ path }) => path.startsWith(folder))
  return { upload, files: () => readdirSync(folder), opened }
}

test('a digest thread that cannot start costs the upload, and leaves nothing', async (t) => {
  const { upload, files, opened } = await startReceiver(t)
  t.mock.method(workerThreads, 'Worker', () => {
    throw new Error('No thread can be had.')
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })

  const failed = await upload()

  assert.equal(failed.status, 500)
  await failed.text()
  assert.deepEqual(files(), [])
  assert.deepEqual(opened(), [])
})

test('a digest thread that dies costs the upload under way, and nothing else', async (t) => {
  const { upload, files } = await startReceiver(t)
  process.once('worker', (thread: Worker) => void thread.terminate())

  const failed = await upload()

  assert.equal(failed.status, 500)
  await failed.text()
  assert.deepEqual(files(), [])
  assert.deepEqual(await (await upload()).json(), { sha256: hash('sha256', CONTENT) })
  assert.deepEqual(files(), [])
})
