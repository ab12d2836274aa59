import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { engines, sharedStorage } from './start-storage.ts'
import { textOf } from './tus-client.ts'

const { openUppy } = await import(join(import.meta.dirname, 'uppy-in-node.mjs'))

type Stored = { id: number; originalFilename: string; folder: string; size: number }
type Progress = { bytesUploaded: number | false }

for (const engine of engines)
  describe(`Uppy in Node, on ${engine.name}`, engine.options, () => {
    const shared = sharedStorage(engine)
    const start = async (chunkSize?: number) => {
      const { api, user: token, baseUrl } = await shared.newcomer()
      const sent: string[] = []
      const onReply = (method: string, status: number) => sent.push(`${method} ${status}`)
      const uppy = openUppy({ endpoint: `${baseUrl}/file/uploads`, token, chunkSize, onReply })
      const add = (name: string, bytes: Buffer, meta: Record<string, string | null> = {}) => {
        const data = new Blob([new Uint8Array(bytes)])
        return uppy.addFile({ name, type: 'text/plain', data, meta })
      }
      const files = async (): Promise<Stored[]> =>
        (await api.get('/file/list', { token })).body.toSorted(byName)
      return { api, token, uppy, add, sent, files }
    }

    test('uploads several files in pieces, with its own metadata', async () => {
      const { api, token, uppy, add, files } = await start(50_000)
      add('a.txt', textOf(120_000), { relativePath: null, caption: 'A caption' })
      add('b.txt', textOf(10), { relativePath: 'holiday/2026/b.txt' })

      const { successful, failed } = await uppy.upload()

      assert.deepEqual([successful.length, failed.length], [2, 0])
      const stored = await files()
      assert.deepEqual(
        stored.map(({ originalFilename, folder, size }) => [originalFilename, folder, size]),
        [
          ['a.txt', '/', 120_000],
          ['b.txt', '/holiday/2026', 10],
        ],
      )
      const { bytes } = await api.get(`/file/download/${stored[0]?.id}`, { token })
      assert.ok(bytes.equals(textOf(120_000)))
    })

    test('goes on after a pause', async () => {
      const { uppy, add, sent, files } = await start(50_000)
      const id = add('a.txt', textOf(500_000))
      let isPaused = false
      uppy.on('upload-progress', (_: unknown, { bytesUploaded }: Progress) => {
        if (isPaused || Number(bytesUploaded) < 100_000) return
        isPaused = true
        uppy.pauseResume(id)
        setImmediate(() => uppy.pauseResume(id))
      })

      const { successful } = await uppy.upload()

      assert.deepEqual([successful.length, isPaused], [1, true])
      assert.equal(sent.filter((line) => line.startsWith('POST')).length, 1)
      assert.deepEqual(
        (await files()).map(({ size }) => size),
        [500_000],
      )
    })

    test('a refused file fails with the reason, and the others are stored', async () => {
      const { uppy, add, files } = await start()
      add('a.exe', textOf(10))
      add('b.txt', textOf(10))

      const { successful, failed } = await uppy.upload()

      assert.deepEqual([successful.length, failed.length], [1, 1])
      assert.match(String(failed[0].error), /UNSUPPORTED_FILE_TYPE/)
      assert.equal((await files()).length, 1)
    })
  })

function byName(one: Stored, other: Stored): number {
  return one.originalFilename < other.originalFilename ? -1 : 1
}
