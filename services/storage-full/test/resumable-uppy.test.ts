import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Uppy from '@uppy/core'
import Tus, { type TusOpts } from '@uppy/tus'
import { engines, sharedStorage } from './start-storage.ts'
import { textOf } from './tus-client.ts'

type Meta = Record<string, string | null>
const SILENT = { debug() {}, warn() {}, error() {} }
type Options = TusOpts<Meta, Record<string, never>>

for (const engine of engines)
  describe(`Uppy in Node, on ${engine.name}`, engine.options, () => {
    const shared = sharedStorage(engine)
    const start = async (options: Options = {}) => {
      const { api, user: token, baseUrl } = await shared.newcomer()
      const sent: string[] = []
      const uppy = new Uppy<Meta, Record<string, never>>({ logger: SILENT }).use(Tus, {
        endpoint: `${baseUrl}/file/uploads`,
        headers: { authorization: `Bearer ${token}` },
        fileReader: blobReader,
        onAfterResponse: (request, response) => {
          sent.push(`${request.getMethod()} ${response.getStatus()}`)
        },
        ...options,
      })
      const add = (name: string, bytes: Buffer, meta: Meta = {}) =>
        uppy.addFile({ name, type: 'text/plain', data: new Blob([new Uint8Array(bytes)]), meta })
      const files = async () => (await api.get('/file/list', { token })).body
      return { api, token, uppy, add, sent, files }
    }

    test('uploads several files in pieces, with its own metadata', async () => {
      const { api, token, uppy, add, files } = await start({ chunkSize: 50_000 })
      add('a.txt', textOf(120_000), { relativePath: null, caption: 'A caption' })
      add('b.txt', textOf(10), { relativePath: 'holiday/2026/b.txt' })

      const { successful, failed } = (await uppy.upload()) ?? {}

      assert.deepEqual([successful?.length, failed], [2, []])
      const stored = (await files()).toSorted(byName)
      assert.deepEqual(
        stored.map((file: Stored) => [file.originalFilename, file.folder, file.size]),
        [
          ['a.txt', '/', 120_000],
          ['b.txt', '/holiday/2026', 10],
        ],
      )
      const { bytes } = await api.get(`/file/download/${stored[0].id}`, { token })
      assert.ok(bytes.equals(textOf(120_000)))
    })

    test('goes on after a pause', async () => {
      const { uppy, add, sent, files } = await start({ chunkSize: 50_000 })
      const id = add('a.txt', textOf(500_000))
      let isPaused = false
      uppy.on('upload-progress', (_, { bytesUploaded }) => {
        if (isPaused || !(bytesUploaded && bytesUploaded >= 100_000)) return
        isPaused = true
        uppy.pauseResume(id)
        setImmediate(() => uppy.pauseResume(id))
      })

      const { successful } = (await uppy.upload()) ?? {}

      assert.deepEqual([successful?.length, isPaused], [1, true])
      assert.equal(sent.filter((line) => line.startsWith('POST')).length, 1)
      assert.deepEqual(
        (await files()).map(({ size }: Stored) => size),
        [500_000],
      )
    })

    test('a refused file fails with the reason, and the others are stored', async () => {
      const { uppy, add, files } = await start()
      add('a.exe', textOf(10))
      add('b.txt', textOf(10))

      const { successful, failed } = (await uppy.upload()) ?? {}

      assert.deepEqual([successful?.length, failed?.length], [1, 1])
      assert.match(String(failed?.[0]?.error), /UNSUPPORTED_FILE_TYPE/)
      assert.equal((await files()).length, 1)
    })
  })

/** In Node tus-js-client reads buffers and streams, and Uppy holds files as blobs. */
const blobReader: Options['fileReader'] = {
  openFile: async (blob: Blob) => ({
    size: blob.size,
    slice: async (start, end) => {
      const bytes = Buffer.from(await blob.slice(start, end).arrayBuffer())
      return { value: Object.assign(bytes, { size: bytes.length }), done: end >= blob.size }
    },
    close() {},
  }),
}

type Stored = { id: number; originalFilename: string; folder: string; size: number }

const byName = (one: Stored, other: Stored) =>
  one.originalFilename < other.originalFilename ? -1 : 1
