import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { filesIn, startStorageKey, temporaryFolder, upload } from './start-storage-key.ts'

/** One of each kind of entry that is not a regular file. */
function plantOddities(t: TestContext, root: string): string[] {
  const outside = temporaryFolder(t)
  writeFileSync(join(outside, 'secret'), 'secret')
  symlinkSync(join(outside, 'secret'), join(root, 'link.png'))
  symlinkSync('nowhere', join(root, 'dangling.png'))
  symlinkSync(outside, join(root, 'folder-link'))
  mkdirSync(join(root, 'folder.png'))
  execFileSync('mkfifo', [join(root, 'fifo.png')])
  const socket = createServer().listen(join(root, 'socket.png'))
  t.after(() => socket.close())
  return ['link.png', 'dangling.png', 'folder-link', 'folder.png', 'fifo.png', 'socket.png']
}

describe('GET /file/list', () => {
  test('is [] when storage is empty', async (t) => {
    const { api } = await startStorageKey(t)

    const reply = await api.get('/file/list')

    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('content-type'), 'application/json')
    assert.equal(reply.bytes.toString(), '[]')
  })

  test('lists regular files only, sorted by code unit', async (t) => {
    const { api, root } = await startStorageKey(t)
    plantOddities(t, root)
    const names = ['b', 'a.png', 'B', '\u{1f600}', '\uffee', 'é', '.hidden', 'list']
    for (const name of names) writeFileSync(join(root, name), '')

    const { body } = await api.get('/file/list')

    assert.deepEqual(body, names.sort())
  })

  test('shows uploads, deletions and changes made by hand at once', async (t) => {
    const { api, root } = await startStorageKey(t)
    const list = async () => (await api.get('/file/list')).body
    const { body: first } = await upload(api)
    assert.deepEqual(await list(), [first])

    writeFileSync(join(root, 'by-hand'), '')
    assert.deepEqual(await list(), [first, 'by-hand'].sort())
    const { body: second } = await upload(api)
    writeFileSync(join(root, 'by-hand-too'), '')
    assert.deepEqual(await list(), [first, second, 'by-hand', 'by-hand-too'].sort())
    rmSync(join(root, 'by-hand'))
    await api.delete(`/file/${first}`)
    assert.deepEqual(await list(), [second, 'by-hand-too'].sort())
    rmSync(join(root, 'by-hand-too'))
    symlinkSync(second, join(root, 'by-hand-too'))

    assert.deepEqual(await list(), [second])
  })

  test('shows a file added or removed by hand in the very next list, within one second', async (t) => {
    const { api, root } = await startStorageKey(t)
    const list = async () => (await api.get('/file/list')).body
    const path = join(root, 'by-hand')

    for (let turn = 0; turn < 50; turn += 1) {
      writeFileSync(path, '')
      assert.deepEqual(await list(), ['by-hand'])
      rmSync(path)
      assert.deepEqual(await list(), [])
    }
  })

  test('shows a new file even if the modification time of the folder is set back', async (t) => {
    const { api, root } = await startStorageKey(t)
    const { atime, mtime } = statSync(root)
    assert.deepEqual((await api.get('/file/list')).body, [])

    writeFileSync(join(root, 'restored'), '')
    utimesSync(root, atime, mtime)

    assert.deepEqual((await api.get('/file/list')).body, ['restored'])
  })

  test('shows 1,500 files that arrive together', async (t) => {
    const { api, root } = await startStorageKey(t)
    await api.get('/file/list')

    for (let count = 0; count < 1500; count += 1) writeFileSync(join(root, `f${count}`), '')

    assert.equal((await api.get('/file/list')).body.length, 1500)
  })

  test('follows a folder that is replaced by another', async (t) => {
    const { api, root } = await startStorageKey(t)
    const list = async () => (await api.get('/file/list')).body
    const other = temporaryFolder(t)
    writeFileSync(join(other, 'new'), '')
    writeFileSync(join(root, 'old'), '')
    assert.deepEqual(await list(), ['old'])

    rmSync(root, { recursive: true })
    renameSync(other, root)

    assert.deepEqual(await list(), ['new'])
    writeFileSync(join(root, 'newer'), '')
    assert.deepEqual(await list(), ['new', 'newer'])
  })

  test('HEAD gives its length', async (t) => {
    const { api } = await startStorageKey(t)

    assert.equal((await api.head('/file/list')).headers.get('content-length'), '2')
  })
})

describe('GET /file/info/{filename}', () => {
  for (const [sizeBytes, sizeKB] of [
    [0, 0],
    [1023, 0],
    [1024, 1],
    [2047, 1],
    [10_485_760, 10_240],
  ] as const)
    test(`gives ${sizeKB} KB for ${sizeBytes} bytes`, async (t) => {
      const { api, root } = await startStorageKey(t)
      writeFileSync(join(root, 'a.webp'), '')
      truncateSync(join(root, 'a.webp'), sizeBytes)
      utimesSync(join(root, 'a.webp'), 0, 1_900_000_000.125)

      const { status, body } = await api.get('/file/info/a.webp')

      assert.equal(status, 200)
      assert.deepEqual(body, {
        name: 'a.webp',
        sizeKB,
        mimeType: 'image/webp',
        lastModified: '2030-03-17T17:46:40.125Z',
      })
    })

  test('falls back to application/octet-stream', async (t) => {
    const { api, root } = await startStorageKey(t)
    writeFileSync(join(root, 'a.unknown'), '')

    assert.equal((await api.get('/file/info/a.unknown')).body.mimeType, 'application/octet-stream')
  })

  test('answers 404 when the file is missing', async (t) => {
    const { api } = await startStorageKey(t)

    assert.equal((await api.get('/file/info/none.png')).status, 404)
  })
})

describe('a symbolic link, folder, FIFO or socket', () => {
  test('is 404 for download and info, 400 for delete, and stays', async (t) => {
    const { api, root } = await startStorageKey(t)
    const oddities = plantOddities(t, root)

    for (const name of oddities) {
      assert.equal((await api.get(`/file/${name}`)).status, 404, name)
      assert.equal((await api.get(`/file/info/${name}`)).status, 404, name)
      assert.equal((await api.delete(`/file/${name}`)).status, 400, name)
    }

    assert.deepEqual(filesIn(root).stored, oddities.sort())
  })

  test('the folder for incoming uploads is treated as a folder', async (t) => {
    const { api } = await startStorageKey(t)

    assert.equal((await api.get('/file/.incoming')).status, 404)
    assert.equal((await api.delete('/file/.incoming')).status, 400)
  })
})

describe('DELETE /file/{filename}', () => {
  test('is true when a file was deleted and false when it does not exist', async (t) => {
    const { api, root } = await startStorageKey(t)
    const { body: name } = await upload(api)

    const [first, second] = [await api.delete(`/file/${name}`), await api.delete(`/file/${name}`)]

    assert.deepEqual(
      [first.status, first.body, second.status, second.body],
      [200, true, 200, false],
    )
    assert.match(first.headers.get('content-type') ?? '', /^application\/json/)
    assert.deepEqual(filesIn(root).stored, [])
  })

  test('/file/list deletes a file called list', async (t) => {
    const { api, root } = await startStorageKey(t)

    assert.equal((await api.delete('/file/list')).body, false)
    writeFileSync(join(root, 'list'), '')
    assert.equal((await api.delete('/file/list')).body, true)
  })

  test('of two concurrent deletions, one deletes the file and the other finds none', async (t) => {
    const { api } = await startStorageKey(t)
    const { body: name } = await upload(api)

    const replies = await Promise.all([api.delete(`/file/${name}`), api.delete(`/file/${name}`)])

    assert.deepEqual(replies.map(({ body }) => body).sort(), [false, true])
  })
})
