import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { storageClient, type UploadMemory } from '@plinth/client'
import { engines, sharedStorage } from './start-storage.ts'
import { sha256, textOf } from './tus-client.ts'

const CHUNK = { chunkBytes: 100_000, retryDelayMs: 1 }

function memory(): UploadMemory & { known: Map<string, string> } {
  const known = new Map<string, string>()
  return {
    known,
    get: (file) => known.get(file),
    set: (file, id) => void known.set(file, id),
    forget: (file) => void known.delete(file),
  }
}

for (const engine of engines)
  describe(`uploadResumable of the client, on ${engine.name}`, engine.options, () => {
    const shared = sharedStorage(engine)
    const bytes = textOf(350_000)
    const file = new Blob([new Uint8Array(bytes)], { type: 'text/plain' })
    const start = async () => {
      const { baseUrl, user } = await shared.newcomer()
      const sent: string[] = []
      const tokens: string[] = []
      let failing = 0
      /** Counts what is sent, and loses the connection when told to. */
      const counting: typeof fetch = (url, init) => {
        sent.push(init?.method ?? 'GET')
        if (failing > 0 && init?.method === 'PATCH') {
          failing -= 1
          return Promise.reject(new TypeError('no network'))
        }
        return fetch(url, init)
      }
      const accessToken = () => {
        tokens.push(user)
        return user
      }
      const storage = storageClient(baseUrl, { accessToken, fetch: counting })
      const fail = (times: number) => {
        failing = times
      }
      return { storage, sent, tokens, fail }
    }

    test('sends pieces, reports progress, and asks for a token for each request', async () => {
      const { storage, sent, tokens } = await start()
      const seen: number[] = []
      const onProgress = ({ loaded, total }: { loaded: number; total: number }) => {
        assert.equal(total, bytes.length)
        seen.push(loaded)
      }

      const stored = await storage.files.uploadResumable(file, 'a.txt', { ...CHUNK, onProgress })
        .done

      assert.deepEqual([stored.size, stored.checksumSha256], [bytes.length, sha256(bytes)])
      assert.deepEqual(sent, ['POST', 'PATCH', 'PATCH', 'PATCH', 'PATCH', 'GET'])
      assert.equal(tokens.length, sent.length)
      assert.deepEqual([seen[0], seen.at(-1)], [0, bytes.length])
      assert.deepEqual(
        seen,
        seen.toSorted((one, other) => one - other),
      )
    })

    test('goes on after lost connections', async () => {
      const { storage, sent, fail } = await start()
      fail(2)

      const stored = await storage.files.uploadResumable(file, 'a.txt', CHUNK).done

      assert.equal(stored.checksumSha256, sha256(bytes))
      assert.equal(sent.filter((method) => method === 'POST').length, 1)
      assert.ok(sent.includes('HEAD'))
    })

    test('gives up after its retries, and the next attempt goes on where it stopped', async () => {
      const { storage, sent, fail } = await start()
      const kept = memory()
      const paused = storage.files.uploadResumable(file, 'a.txt', {
        ...{ ...CHUNK, memory: kept, retries: 0 },
        onProgress: ({ loaded }) => {
          if (loaded >= 200_000) fail(1)
        },
      })
      await assert.rejects(paused.done)
      const before = sent.length

      const stored = await storage.files.uploadResumable(file, 'a.txt', {
        ...{ ...CHUNK, memory: kept },
      }).done

      assert.equal(stored.checksumSha256, sha256(bytes))
      assert.equal(sent[before], 'HEAD')
      assert.ok(!sent.slice(before).includes('POST'))
      assert.equal(kept.known.size, 0)
    })

    test('pauses and resumes', async () => {
      const { storage, sent } = await start()
      const { promise: some, resolve } = Promise.withResolvers<void>()
      const upload = storage.files.uploadResumable(file, 'a.txt', {
        ...CHUNK,
        onProgress: ({ loaded }) => {
          if (loaded >= 100_000) resolve()
        },
      })
      await some
      upload.pause()
      const listed = await storage.uploads.list()
      upload.resume()

      const stored = await upload.done

      assert.deepEqual(
        listed.map(({ filename, length }) => [filename, length]),
        [['a.txt', bytes.length]],
      )
      assert.equal(stored.checksumSha256, sha256(bytes))
      assert.equal(sent.filter((method) => method === 'POST').length, 1)
    })

    test('begins again when the service does not know the upload any more', async () => {
      const { storage } = await start()
      const kept = memory()
      const first = storage.files.uploadResumable(file, 'a.txt', {
        ...{ ...CHUNK, memory: kept },
        onProgress: () => first.pause(),
      })
      while (kept.known.size === 0) await new Promise((resolve) => setImmediate(resolve))
      const [uploadId = ''] = kept.known.values()
      await storage.uploads.cancel(uploadId)

      first.resume()
      const second = storage.files.uploadResumable(file, 'a.txt', {
        ...{ ...CHUNK, memory: kept },
      })

      assert.equal((await second.done).checksumSha256, sha256(bytes))
      await first.cancel()
    })

    test('cancels here and at the service', async () => {
      const { storage } = await start()
      const { promise: some, resolve } = Promise.withResolvers<void>()
      const upload = storage.files.uploadResumable(file, 'a.txt', {
        ...CHUNK,
        onProgress: ({ loaded }) => {
          if (loaded >= 100_000) resolve()
        },
      })
      await some

      await upload.cancel()

      await assert.rejects(upload.done, /cancelled/)
      assert.deepEqual(await storage.uploads.list(), [])
    })

    test('a refusal ends it', async () => {
      const { storage } = await start()

      const { done } = storage.files.uploadResumable(file, 'a.exe', CHUNK)

      await assert.rejects(done, { code: 'UNSUPPORTED_FILE_TYPE' })
    })
  })
