import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { propertyRuns } from '@plinth/kit/testing'
import {
  array,
  asyncProperty,
  boolean,
  assert as check,
  constantFrom,
  oneof,
  record,
  string,
  uint8Array,
} from 'fast-check'
import { exchange } from './raw-request.ts'
import { filesIn, KEY, startStorageKey, temporaryFolder } from './start-storage-key.ts'

const escaped = (bytes: Uint8Array) =>
  [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

describe('for any input', () => {
  test('a name of any bytes never leaves the folder and never gives 500', {
    tags: ['property'],
  }, async (t) => {
    const outer = temporaryFolder(t)
    writeFileSync(join(outer, 'canary'), 'CANARY')
    const { port } = await startStorageKey(t, { STORAGE_KEY_ROOT: join(outer, 'root') })
    const piece = oneof(
      uint8Array({ maxLength: 6 }).map(escaped),
      constantFrom(
        '..',
        '.',
        '/',
        '\\',
        '%2f',
        '%5c',
        '%2e',
        '%00',
        '%25',
        'canary',
        ';',
        ':',
        'info',
      ),
      string({ unit: 'grapheme-ascii', maxLength: 3 }).map((text) => text.replaceAll(/\s/g, '')),
    )
    const name = array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
    const prefix = constantFrom('/file/', '/file/info/', '//file/', '/%66ile/')
    const method = constantFrom('GET', 'DELETE', 'HEAD')

    await check(
      asyncProperty(method, prefix, name, async (verb, path, text) => {
        const target = Buffer.from(`${path}${text}`, 'latin1')
        const [before, after] = [
          `${verb} `,
          ' HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n',
        ]
        const request = (headers: string) =>
          Buffer.concat([Buffer.from(before), target, Buffer.from(`${after}${headers}\r\n`)])

        const keyed = await exchange(port, request(`X-API-KEY: ${KEY}\r\n`))
        const anonymous = await exchange(port, request(''))

        assert.ok([200, 400, 403, 404].includes(keyed.status), `${keyed.status} ${text}`)
        assert.ok(!`${keyed.head}${keyed.body}`.includes('CANARY'))
        assert.ok(!keyed.body.includes(outer))
        assert.ok([400, 401].includes(anonymous.status))
      }),
      { numRuns: propertyRuns(400) },
    )
  })

  test('any multipart body is stored completely or refused, never 500, and leaves nothing', {
    tags: ['property'],
  }, async (t) => {
    const { port, root } = await startStorageKey(t)
    const header = 'Content-Disposition: form-data; name="file"; filename="a.png"'
    const piece = oneof(
      constantFrom(
        '--b',
        '--b--',
        '\r\n',
        '\r\n\r\n',
        header,
        'Content-Type: image/png',
        '\0',
        '"',
      ),
      constantFrom('\x89PNG\r\n\x1a\n', 'filename="', 'name=', ';', '-', ': '),
      uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    )
    const wellFormed = uint8Array({ maxLength: 50 }).map(
      (bytes) =>
        `--b\r\n${header}\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n${Buffer.from(bytes).toString('latin1')}\r\n--b--\r\n`,
    )
    const body = oneof(
      array(piece, { maxLength: 20 }).map((pieces) => pieces.join('')),
      wellFormed,
    )

    await check(
      asyncProperty(body, async (text) => {
        const stored = filesIn(root).stored.length
        const content = Buffer.from(text, 'latin1')
        const head = `POST /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-KEY: ${KEY}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${content.length}\r\n\r\n`

        const { status } = await exchange(port, Buffer.concat([Buffer.from(head), content]))

        assert.ok([200, 400].includes(status), String(status))
        assert.equal(filesIn(root).stored.length, stored + (status === 200 ? 1 : 0))
        assert.deepEqual(filesIn(root).incoming, [])
      }),
      { numRuns: propertyRuns(400) },
    )
  })

  test('the list matches the folder when files are added and removed by hand', {
    tags: ['property'],
  }, async (t) => {
    const { api, root } = await startStorageKey(t)
    const list = async () => (await api.get('/file/list')).body
    const expected = new Set<string>()
    const change = record({
      name: constantFrom('a', 'b', 'c', 'd', 'e'),
      present: boolean(),
      thenList: boolean(),
    })

    await check(
      asyncProperty(array(change, { maxLength: 30 }), async (changes) => {
        for (const { name, present, thenList } of changes) {
          if (present) writeFileSync(join(root, name), '')
          else rmSync(join(root, name), { force: true })
          if (present) expected.add(name)
          else expected.delete(name)
          if (thenList) assert.deepEqual(await list(), [...expected].sort())
        }
        assert.deepEqual(await list(), [...expected].sort())
      }),
      { numRuns: propertyRuns(100) },
    )
  })
})
