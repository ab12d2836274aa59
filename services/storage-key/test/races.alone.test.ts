import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { filesIn, KEY, PNG, startStorageKey, temporaryFolder, upload } from './start-storage-key.ts'

const openDescriptors = () => readdirSync('/proc/self/fd').length

describe('concurrently', () => {
  test('a file replaced by a symbolic link is never followed', async (t) => {
    const { api, root } = await startStorageKey(t)
    const outside = temporaryFolder(t)
    writeFileSync(join(outside, 'secret'), 'secret')
    let [swaps, done] = [0, false]
    const swapping = (async () => {
      while (!done) {
        writeFileSync(join(root, 'next'), 'public')
        renameSync(join(root, 'next'), join(root, 'a.png'))
        symlinkSync(join(outside, 'secret'), join(root, 'next'))
        renameSync(join(root, 'next'), join(root, 'a.png'))
        swaps += 1
        await new Promise(setImmediate)
      }
    })()

    const replies = []
    for (let turn = 0; turn < 200; turn += 1) replies.push(await api.get('/file/a.png'))
    done = true
    await swapping

    assert.ok(swaps > 10)
    for (const { status, body } of replies) assert.ok(status === 404 || body === 'public', body)
  })

  test('a download continues after the file is deleted', async (t) => {
    const { api, baseUrl, root } = await startStorageKey(t)
    const content = randomBytes(30 * 2 ** 20)
    writeFileSync(join(root, 'large.png'), content)
    const reply = await fetch(`${baseUrl}/file/large.png`, { headers: { 'x-api-key': KEY } })

    assert.equal((await api.delete('/file/large.png')).body, true)

    assert.ok(Buffer.from(await reply.arrayBuffer()).equals(content))
  })

  test('200 uploads all succeed under different names', async (t) => {
    const { api, root } = await startStorageKey(t)

    const replies = await Promise.all(Array.from({ length: 200 }, () => upload(api)))

    assert.ok(replies.every(({ status }) => status === 200))
    assert.deepEqual(filesIn(root), {
      stored: replies.map(({ body }) => body).sort(),
      incoming: [],
    })
    assert.deepEqual((await api.get('/file/list')).body, filesIn(root).stored)
  })

  test('uploads, lists and deletions never show a partial file', async (t) => {
    const { api } = await startStorageKey(t)
    const content = Buffer.concat([PNG, randomBytes(300_000)])
    let uploading = true
    const writers = Array.from({ length: 4 }, async () => {
      for (let turn = 0; turn < 10; turn += 1) {
        const { body: name } = await upload(api, { content })
        if (turn % 2 === 0) await api.delete(`/file/${name}`)
      }
    })
    const reader = (async () => {
      while (uploading)
        for (const name of (await api.get('/file/list')).body) {
          assert.match(name, /^[0-9a-f-]{36}\.png$/)
          const reply = await api.get(`/file/${name}`)
          assert.ok(reply.status === 404 || reply.bytes.equals(content))
        }
    })()

    await Promise.all(writers)
    uploading = false
    await reader

    assert.equal((await api.get('/file/list')).body.length, 20)
  })

  test('an upload is in the list as soon as it is acknowledged', async (t) => {
    const { api } = await startStorageKey(t)

    await Promise.all(
      Array.from({ length: 30 }, async () => {
        const { body: name } = await upload(api)
        assert.ok((await api.get('/file/list')).body.includes(name))
      }),
    )
  })
})

describe('a client that disconnects', () => {
  for (const share of [0, 0.6, 0.999])
    test(`after ${share * 100} % of an upload leaves no file and no descriptor`, async (t) => {
      const { api, port, root, server } = await startStorageKey(t)
      await upload(api)
      const stored = filesIn(root).stored
      const before = openDescriptors()
      const content = Buffer.concat([
        Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'),
        Buffer.alloc(1_000_000),
      ])
      const head = `POST /file HTTP/1.1\r\nHost: localhost\r\nX-API-KEY: ${KEY}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000200\r\n\r\n`

      for (let turn = 0; turn < 5; turn += 1) {
        const arrived = once(server.server, 'request')
        const socket = connect(port, '127.0.0.1')
        socket.write(head)
        socket.write(content.subarray(0, Math.ceil(content.length * share)))
        await arrived
        await until(() => share === 0 || filesIn(root).incoming.length > 0, Boolean, 1)
        socket.destroy()
        await until(() => filesIn(root).incoming.length === 0, Boolean, 1)
      }

      await until(() => openDescriptors() <= before, Boolean, 1)
      assert.deepEqual(filesIn(root), { stored, incoming: [] })
    })

  test('in the middle of a download leaves no descriptor', async (t) => {
    const { port, root, api } = await startStorageKey(t)
    writeFileSync(join(root, 'large.png'), Buffer.alloc(50 * 2 ** 20))
    await api.get('/file/list')
    const before = openDescriptors()

    for (let turn = 0; turn < 10; turn += 1) {
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET /file/large.png HTTP/1.1\r\nHost: localhost\r\nX-API-KEY: ${KEY}\r\n\r\n`)
      await new Promise((resolve) => socket.once('data', resolve))
      socket.destroy()
    }

    await until(() => openDescriptors() <= before, Boolean, 1)
  })
})
