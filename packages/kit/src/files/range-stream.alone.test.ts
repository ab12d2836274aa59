import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { open, truncate } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RangeStream } from './open-file.ts'

const CONTENT = randomBytes(5 * 2 ** 20 + 12_345)
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function largeFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-range-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'large'), CONTENT)
  return join(folder, 'large')
}

async function stream(path: string, start = 0, end = CONTENT.length - 1) {
  return new RangeStream(await open(path), start, end)
}

describe('a range of a file', () => {
  for (const [start, end] of [
    [0, CONTENT.length - 1],
    [0, 0],
    [7, 7],
    [1000, 3_000_000],
    [CONTENT.length - 1, CONTENT.length - 1],
  ] as const)
    test(`${start}-${end} is read exactly`, async (t) => {
      const read = await buffer(await stream(largeFile(t), start, end))

      assert.ok(read.equals(CONTENT.subarray(start, end + 1)))
    })

  test('reaches many slow clients intact although buffers are reused', async (t) => {
    const path = largeFile(t)
    const server = createServer(async (_request, response) => {
      ;(await stream(path)).pipe(response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo

    const digests = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const reply = await fetch(`http://127.0.0.1:${port}/`)
        const hash = createHash('sha256')
        for await (const chunk of reply.body ?? []) {
          hash.update(chunk)
          await nextTurn()
        }
        return hash.digest('hex')
      }),
    )

    assert.deepEqual([...new Set(digests)], [digest(CONTENT)])
  })

  test('reaches a slow server as the body of a request, and counts its bytes', async (t) => {
    const path = largeFile(t)
    const server = createServer(async (incoming, response) => {
      const hash = createHash('sha256')
      for await (const chunk of incoming) {
        hash.update(chunk)
        await nextTurn()
      }
      response.end(hash.digest('hex'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const range = await stream(path)
    const read = [range.bytesRead]

    const headers = { 'content-length': CONTENT.length }
    const sent = range.pipe(request({ port, host: '127.0.0.1', method: 'PUT', headers }))
    const [reply] = await once(sent, 'response')

    assert.equal(await text(reply), digest(CONTENT))
    assert.deepEqual([...read, range.bytesRead], [0, CONTENT.length])
  })

  test('uses a new buffer for each chunk when the destination keeps them', async (t) => {
    const kept: Buffer[] = []
    const destination = new Writable({
      highWaterMark: 2 ** 24,
      write: (chunk, _encoding, done) => {
        kept.push(chunk)
        done()
      },
    })

    ;(await stream(largeFile(t))).pipe(destination)
    await new Promise((resolve) => destination.once('finish', resolve))

    assert.equal(digest(Buffer.concat(kept)), digest(CONTENT))
  })

  test('fails when the file has shrunk, instead of ending early', async (t) => {
    const path = largeFile(t)
    const range = await stream(path)
    await truncate(path, 1_000_000)

    await assert.rejects(buffer(range), /shorter/)
  })

  test('closes its file when it is abandoned', async (t) => {
    const before = readdirSync('/proc/self/fd').length
    const range = await stream(largeFile(t))
    range.once('data', () => range.destroy())
    await new Promise((resolve) => range.once('close', resolve))

    assert.equal(readdirSync('/proc/self/fd').length, before)
  })
})
