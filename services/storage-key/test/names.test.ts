import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { rawRequest } from './raw-request.ts'
import { startStorageKey } from './start-storage-key.ts'

const LONG = 'a'.repeat(256)

/** Each name as written in the request line, after `/file/` or `/file/info/`. */
const MATRIX: [name: string, status: number][] = [
  // undecodable, blank, control characters, too long
  ['%zz', 400],
  ['%', 400],
  ['%ff', 400],
  ['%c0%ae', 400],
  ['%c0%ae%c0%ae%2f', 400],
  ['%ed%a0%80', 400],
  ['', 400],
  ['%20', 400],
  ['%00', 400],
  ['a%00.png', 400],
  ['..%00', 400],
  ['%0a', 400],
  ['a%0d%0ab', 400],
  ['%7f', 400],
  ['%c2%85', 400],
  [LONG, 400],
  [`..%2f${LONG}`, 400],
  ['%c3%a4'.repeat(128), 400],
  // climbing
  ['..', 403],
  ['%2e%2e', 403],
  ['.%2e', 403],
  ['../x', 403],
  ['..%2fx', 403],
  ['..%2Fx', 403],
  ['..%5cx', 403],
  ['..\\x', 403],
  ['%2e%2e%2f', 403],
  ['..%2f..%2fetc%2fpasswd', 403],
  ['..%5c..%5cwindows', 403],
  ['../../../../etc/passwd', 403],
  ['a/../../x', 403],
  ['a%2f..%2f..%2fx', 403],
  ['a%5c..%5c..%5cx', 403],
  ['.%2f..%2fx', 403],
  ['%2f..%2fx', 403],
  ['C:%5c..%5c..%5cx', 403],
  ['../actuator/env', 403],
  // absolute
  ['%2fetc%2fpasswd', 400],
  ['/etc/passwd', 400],
  ['C:%5cx', 400],
  ['C:\\x', 400],
  ['c:%2fx', 400],
  ['%5c%5cserver%5cx', 400],
  ['%5cx', 400],
  // nested
  ['.', 400],
  ['%2e', 400],
  ['sub/a.png', 400],
  ['a%2fb', 400],
  ['a%5cb', 400],
  ['a/', 400],
  ['a%2f', 400],
  ['a/..', 400],
  ['a/./b', 400],
  ['a%2f..%2fb', 400],
  // valid names of missing files
  ['missing.png', 404],
  ['%252e%252e%252f', 404],
  ['%252fetc%252fpasswd', 404],
  ['...', 404],
  ['..a', 404],
  ['a.png.', 404],
  ['a.png%20', 404],
  ['%EF%BC%8E%EF%BC%8E%EF%BC%8F', 404],
  ['%E2%88%95etc', 404],
  ['%E2%80%AEgnp.a', 404],
  ['a;b', 404],
  ['~', 404],
  ['C:x', 404],
  ['a'.repeat(255), 404],
  ['a%3Fb', 404],
  ['__proto__', 404],
]

describe('the name matrix', () => {
  for (const [name, status] of MATRIX)
    test(`${name.slice(0, 40) || '(empty)'} is ${status}`, async (t) => {
      const { port, root } = await startStorageKey(t)
      const withoutKey = (method: string, path: string) =>
        rawRequest(port, `${path}${name}`, { method, key: null })

      const replies = {
        download: await rawRequest(port, `/file/${name}`),
        info: await rawRequest(port, `/file/info/${name}`),
        delete: await rawRequest(port, `/file/${name}`, { method: 'DELETE' }),
      }

      assert.equal(replies.download.status, status)
      assert.equal(replies.info.status, status)
      assert.equal(replies.delete.status, status === 404 ? 200 : status)
      if (status === 404) assert.equal(replies.delete.body, 'false')
      for (const { body } of Object.values(replies)) assert.ok(!body.includes(root))
      for (const method of ['GET', 'HEAD', 'DELETE', 'POST', 'PUT']) {
        assert.equal((await withoutKey(method, '/file/')).status, 401, method)
        assert.equal((await withoutKey(method, '/file/info/')).status, 401, method)
      }
    })
})

describe('names that are also paths', () => {
  test('GET /file/info downloads a file called info', async (t) => {
    const { api, root } = await startStorageKey(t)

    assert.equal((await api.get('/file/info')).status, 404)
    writeFileSync(join(root, 'info'), 'x')
    assert.equal((await api.get('/file/info')).body, 'x')
    assert.equal((await api.get('/file/info/info')).body.name, 'info')
  })

  test('a file called list is listed, described and deleted, and hides nothing', async (t) => {
    const { api, root } = await startStorageKey(t)
    writeFileSync(join(root, 'list'), 'x')

    assert.deepEqual((await api.get('/file/list')).body, ['list'])
    assert.equal((await api.get('/file/info/list')).body.name, 'list')
    assert.equal((await api.delete('/file/list')).body, true)
  })

  for (const name of [
    'größe.png',
    'a b.png',
    'a+b.png',
    '100%.png',
    'a?b.png',
    'a#b',
    "it's",
    'C:x',
  ])
    test(`a file placed by hand as ${name} can be fetched`, async (t) => {
      const { api, root } = await startStorageKey(t)
      writeFileSync(join(root, name), 'x')

      const reply = await api.get(`/file/${encodeURIComponent(name)}`)

      assert.equal(reply.body, 'x')
      assert.equal((await api.get(`/file/info/${encodeURIComponent(name)}`)).body.name, name)
    })

  for (const [name, listed] of [
    [Buffer.from('a\\b.png'), 'a\\b.png'],
    [Buffer.from('a\nb.png'), 'a\nb.png'],
    [Buffer.from('caf\xe9.png', 'latin1'), 'caf\ufffd.png'],
  ] as const)
    test(`${JSON.stringify(listed)}, placed by hand, is listed, but no request can name it`, async (t) => {
      const { api, root } = await startStorageKey(t)
      writeFileSync(Buffer.concat([Buffer.from(`${root}/`), name]), 'x')

      const reply = await api.get(`/file/${encodeURIComponent(listed)}`)

      assert.deepEqual((await api.get('/file/list')).body, [listed])
      assert.equal(reply.status, listed.includes('\ufffd') ? 404 : 400)
    })

  test('NFC and NFD of one name are two files', async (t) => {
    const { api, root } = await startStorageKey(t)
    writeFileSync(join(root, 'é'.normalize('NFC')), 'composed')
    writeFileSync(join(root, 'é'.normalize('NFD')), 'decomposed')

    assert.equal(
      (await api.get(`/file/${encodeURIComponent('é'.normalize('NFD'))}`)).body,
      'decomposed',
    )
  })
})
