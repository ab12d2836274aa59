import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DetailedError, type HttpRequest, type HttpResponse, Upload } from 'tus-js-client'
import { engines, sharedStorage } from './start-storage.ts'
import { textOf } from './tus-client.ts'

type Sent = { method: string; status: number }
type Options = NonNullable<ConstructorParameters<typeof Upload>[1]>

/** Runs an unmodified tus-js-client to its end, and returns what it sent. */
function uploadWith(bytes: Buffer, options: Options) {
  const sent: Sent[] = []
  const { promise: done, resolve, reject } = Promise.withResolvers<Upload>()
  const upload: Upload = new Upload(bytes, {
    retryDelays: [0, 100, 500],
    metadata: { filename: 'a.txt', filetype: 'text/plain' },
    onAfterResponse: (request: HttpRequest, response: HttpResponse) => {
      sent.push({ method: request.getMethod(), status: response.getStatus() })
    },
    onSuccess: () => resolve(upload),
    onError: reject,
    ...options,
  })
  return { upload, sent, done }
}

type UrlStorage = NonNullable<Options['urlStorage']>
type Remembered = Awaited<ReturnType<UrlStorage['findAllUploads']>>[number]

/** As the storage of a browser or a file, for one test. */
function rememberedUploads(): UrlStorage {
  const known = new Map<string, { fingerprint: string; upload: Remembered }>()
  const list = (fingerprint?: string) =>
    [...known]
      .filter(([, entry]) => fingerprint === undefined || entry.fingerprint === fingerprint)
      .map(([urlStorageKey, { upload }]) => ({ ...upload, urlStorageKey }))
  return {
    findAllUploads: async () => list(),
    findUploadsByFingerprint: async (fingerprint) => list(fingerprint),
    removeUpload: async (key) => void known.delete(key),
    addUpload: async (fingerprint, upload) => {
      const key = `${fingerprint}-${known.size}`
      known.set(key, { fingerprint, upload })
      return key
    },
  }
}

for (const engine of engines)
  describe(`tus-js-client, unmodified, on ${engine.name}`, engine.options, () => {
    const shared = sharedStorage(engine)
    const start = async () => {
      const { api, user, baseUrl } = await shared.newcomer()
      const headers = { authorization: `Bearer ${user}` }
      const files = async () => (await api.get('/file/list', { token: user })).body
      const content = async (id: number) =>
        (await api.get(`/file/download/${id}`, { token: user })).bytes
      return { api, files, content, options: { endpoint: `${baseUrl}/file/uploads`, headers } }
    }

    test('uploads in chunks', async () => {
      const { files, content, options } = await start()
      const bytes = textOf(300_000)
      const { upload, sent, done } = uploadWith(bytes, { ...options, chunkSize: 100_000 })

      upload.start()
      await done

      assert.deepEqual(sent, [
        { method: 'POST', status: 201 },
        { method: 'PATCH', status: 204 },
        { method: 'PATCH', status: 204 },
        { method: 'PATCH', status: 204 },
      ])
      const [file] = await files()
      assert.ok((await content(file.id)).equals(bytes))
    })

    test('uploads with its first bytes in the creation', async () => {
      const { files, options } = await start()
      const { upload, sent, done } = uploadWith(textOf(5000), {
        ...{ ...options, uploadDataDuringCreation: true },
      })

      upload.start()
      await done

      assert.deepEqual(sent, [{ method: 'POST', status: 201 }])
      assert.equal((await files()).length, 1)
    })

    test('resumes where an aborted upload stopped', async () => {
      const { files, content, options } = await start()
      const bytes = textOf(300_000)
      const first = uploadWith(bytes, { ...options, chunkSize: 100_000 })
      const { promise: some, resolve } = Promise.withResolvers<void>()
      first.upload.options.onChunkComplete = () => resolve()
      first.upload.start()
      await some
      await first.upload.abort()

      const { url } = first.upload
      const second = uploadWith(bytes, { ...options, uploadUrl: url, chunkSize: 100_000 })
      second.upload.start()
      await second.done

      assert.equal(second.sent[0]?.method, 'HEAD')
      assert.ok(!second.sent.some(({ method }) => method === 'POST'))
      const listed = await files()
      assert.equal(listed.length, 1)
      assert.ok((await content(listed[0].id)).equals(bytes))
    })

    test('finds its upload again by the fingerprint of the file', async () => {
      const { files, options } = await start()
      const bytes = textOf(300_000)
      const kept = { ...options, chunkSize: 100_000, urlStorage: rememberedUploads() }
      const first = uploadWith(bytes, kept)
      const { promise: some, resolve } = Promise.withResolvers<void>()
      first.upload.options.onChunkComplete = () => resolve()
      first.upload.start()
      await some
      await first.upload.abort()

      const second = uploadWith(bytes, { ...kept, removeFingerprintOnSuccess: true })
      const [previous] = await second.upload.findPreviousUploads()
      assert.ok(previous)
      second.upload.resumeFromPreviousUpload(previous)
      second.upload.start()
      await second.done

      assert.equal(second.sent[0]?.method, 'HEAD')
      assert.ok(!second.sent.some(({ method }) => method === 'POST'))
      assert.deepEqual(
        (await files()).map(({ size }: { size: number }) => size),
        [300_000],
      )
      assert.deepEqual(await second.upload.findPreviousUploads(), [])
    })

    test('finds that an upload is done when its last reply was lost', async () => {
      const { files, options } = await start()
      const first = uploadWith(textOf(100), options)
      first.upload.start()
      await first.done

      const again = uploadWith(textOf(100), { ...options, uploadUrl: first.upload.url })
      again.upload.start()
      await again.done

      assert.deepEqual(again.sent, [{ method: 'HEAD', status: 200 }])
      assert.equal((await files()).length, 1)
    })

    test('ends an upload', async () => {
      const { api, options } = await start()
      const { upload } = uploadWith(textOf(300_000), { ...options, chunkSize: 100_000 })
      const { promise: some, resolve } = Promise.withResolvers<void>()
      upload.options.onChunkComplete = () => resolve()
      upload.start()
      await some

      await upload.abort(true)

      const token = options.headers.authorization.slice('Bearer '.length)
      assert.deepEqual((await api.get('/file/uploads', { token })).body, [])
    })

    test('parallelUploads are refused, and no part of a file is taken for a file', async () => {
      const { files, options } = await start()
      const { upload, done } = uploadWith(textOf(300), {
        ...{ ...options, parallelUploads: 3, retryDelays: null },
      })

      upload.start()

      await assert.rejects(done, (error) => {
        assert.ok(error instanceof DetailedError)
        assert.equal(error.originalResponse?.getStatus(), 400)
        return true
      })
      assert.deepEqual(await files(), [])
    })
  })
