import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { filesIn, form, PNG, startStorageKey, upload } from './start-storage-key.ts'

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'

describe('POST /file', () => {
  for (const [filename, type, content, extension] of [
    ['a.png', 'image/png', sampleFiles.png, '.png'],
    ['a.jpg', 'image/jpeg', sampleFiles.jpg, '.jpg'],
    ['a.jpeg', 'image/jpeg', sampleFiles.jpg, '.jpeg'],
    ['a.JPEG', 'image/jpeg', sampleFiles.jpg, '.jpeg'],
    ['a.pdf', 'application/pdf', sampleFiles.pdf, '.pdf'],
    ['a.webp', 'image/webp', sampleFiles.webp, '.webp'],
    ['A.PnG', 'IMAGE/PNG', PNG, '.png'],
  ] as const)
    test(`stores ${filename} declared ${type} under a UUID and ${extension}`, async (t) => {
      const { api, root } = await startStorageKey(t)

      const reply = await upload(api, { filename, type, content })

      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('content-type'), 'text/plain; charset=utf-8')
      assert.match(reply.body, new RegExp(`^${UUID}\\${extension}$`))
      assert.ok(readFileSync(join(root, reply.body)).equals(content))
      assert.deepEqual(filesIn(root), { stored: [reply.body], incoming: [] })
    })

  for (const filename of [
    '../../x.png',
    'C:\\x.png',
    'x.php.png',
    '.png',
    `${'x'.repeat(4000)}.png`,
  ])
    test(`never uses the original name ${filename.slice(0, 20)} as a path`, async (t) => {
      const { api, root } = await startStorageKey(t)

      const reply = await upload(api, { filename })

      assert.match(reply.body, new RegExp(`^${UUID}\\.png$`))
      assert.deepEqual(filesIn(root).stored, [reply.body])
    })

  const wrong = { extension: 'a.webp', type: 'application/pdf', content: sampleFiles.jpg }
  for (const [why, part] of [
    ['an empty file', { content: '' }],
    [
      'an unsupported extension',
      { filename: 'a.gif', type: 'image/gif', content: sampleFiles.gif },
    ],
    ['no extension', { filename: 'png' }],
    ['a trailing dot', { filename: 'a.png.' }],
    ['a type that disagrees', { type: wrong.type }],
    ['a type with a parameter', { type: 'image/png; charset=utf-8' }],
    ['content that disagrees', { content: wrong.content }],
    ['an extension that disagrees', { filename: wrong.extension }],
    [
      'all three different',
      { filename: wrong.extension, type: wrong.type, content: wrong.content },
    ],
    ['HTML with the name of a picture', { content: '<html><script>alert(1)</script>' }],
    ['SVG', { filename: 'a.svg', type: 'image/svg+xml', content: '<svg/>' }],
    ['a single byte', { content: '\x89' }],
    ['a part with another name', { name: 'data' }],
  ] as const)
    test(`refuses ${why} with 400 and keeps nothing`, async (t) => {
      const { api, root } = await startStorageKey(t)

      const reply = await upload(api, part)

      assert.equal(reply.status, 400)
      assert.equal(reply.headers.get('content-type'), 'application/json')
      assert.deepEqual(filesIn(root), { stored: [], incoming: [] })
    })

  test('says which of extension, declared type and content disagree', async (t) => {
    const { api } = await startStorageKey(t)

    const reply = await upload(api, { type: 'application/pdf', content: sampleFiles.webp })

    assert.deepEqual(reply.body.claims, { extension: 'png', declaredType: 'pdf', content: 'webp' })
    assert.match(reply.body.message, /extension says png.*declared type says pdf.*content is webp/)
  })

  test('says which type to declare when only that one disagrees', async (t) => {
    const { api } = await startStorageKey(t)
    const webp = { filename: 'a.webp', content: sampleFiles.webp }

    const reply = await upload(api, { ...webp, type: 'application/octet-stream' })

    assert.equal(reply.status, 400)
    assert.equal(
      reply.body.message,
      'declared application/octet-stream, expected image/webp: send type=image/webp',
    )
    assert.equal((await upload(api, { ...webp, type: 'image/webp' })).status, 200)
  })

  test('refuses a second file with 400 and names it', async (t) => {
    const { api, root } = await startStorageKey(t)
    const body = form()
    body.append('file', new Blob([PNG], { type: 'image/png' }), 'b.png')

    const reply = await api.request('POST', '/file', { body })

    assert.equal(reply.status, 400)
    assert.equal(reply.body.message, 'The form has a second file, "b.png". Send one.')
    assert.deepEqual(filesIn(root), { stored: [], incoming: [] })
  })

  test('ignores up to 20 text fields of 8 KiB together beside the file', async (t) => {
    const { api, root } = await startStorageKey(t)
    const withFields = (count: number, bytes: number) => {
      const body = form()
      for (let field = 0; field < count; field += 1)
        body.append(`field${field}`, field === 0 ? 'x'.repeat(bytes) : '')
      return api.request('POST', '/file', { body })
    }

    assert.equal((await withFields(20, 8192)).status, 200)
    assert.equal(filesIn(root).stored.length, 1)
    assert.equal((await withFields(21, 0)).status, 400)
    assert.equal((await withFields(1, 8193)).status, 400)
    assert.equal(filesIn(root).stored.length, 1)
    assert.deepEqual(filesIn(root).incoming, [])
  })

  for (const [what, headers, body] of [
    ['JSON', { 'content-type': 'application/json' }, '{"file":"x"}'],
    ['text', { 'content-type': 'text/plain' }, 'x'],
    ['a type that is none', { 'content-type': 'garbage' }, 'x'],
    ['an empty type', { 'content-type': '' }, 'x'],
    [
      'a form that is not multipart',
      { 'content-type': 'application/x-www-form-urlencoded' },
      'a=b',
    ],
    ['multipart without a boundary', { 'content-type': 'multipart/form-data' }, '--x\r\n'],
    ['an empty body', { 'content-type': 'multipart/form-data; boundary=x' }, ''],
    ['no body and no type', {}, undefined],
  ] as const)
    test(`refuses ${what} with 400`, async (t) => {
      const { api } = await startStorageKey(t)

      const reply = await api.request('POST', '/file', { headers: { ...headers }, body })

      assert.equal(reply.status, 400)
      assert.deepEqual(Object.keys(reply.body), ['timestamp', 'status', 'error', 'message', 'path'])
    })

  test('accepts a damaged file: only its signature is checked', async (t) => {
    const { api } = await startStorageKey(t)

    assert.equal((await upload(api, { content: sampleFiles.png.subarray(0, 8) })).status, 200)
  })
})

describe('POST /file, sizes', () => {
  const limited = (file: number, request: number) => ({
    STORAGE_KEY_MAX_FILE_SIZE: String(file),
    STORAGE_KEY_MAX_REQUEST_SIZE: String(request),
  })

  test('accepts a file of exactly the limit and answers 413 to one byte more', async (t) => {
    const { api, root } = await startStorageKey(t, limited(1000, 5000))
    const content = (length: number) => Buffer.concat([PNG, Buffer.alloc(length - PNG.length)])

    const [fits, tooLarge] = [
      await upload(api, { content: content(1000) }),
      await upload(api, { content: content(1001) }),
    ]

    assert.deepEqual([fits.status, tooLarge.status], [200, 413])
    assert.deepEqual(filesIn(root), { stored: [fits.body], incoming: [] })
  })

  test('answers 413 when the whole request is too large although the file is not', async (t) => {
    const { api, root } = await startStorageKey(t, limited(1000, 1000))

    const reply = await upload(api, { content: Buffer.concat([PNG, Buffer.alloc(950)]) })

    assert.equal(reply.status, 413)
    assert.deepEqual(filesIn(root), { stored: [], incoming: [] })
  })

  test('by default accepts 10 MB per request and lets the client read the 413 for more', async (t) => {
    const { api, root } = await startStorageKey(t)
    const content = (length: number) => Buffer.concat([PNG, Buffer.alloc(length)])

    assert.equal((await upload(api, { content: content(10 * 2 ** 20 - 1000) })).status, 200)
    assert.equal((await upload(api, { content: content(10 * 2 ** 20) })).status, 413)
    assert.equal((await upload(api, { content: content(24 * 2 ** 20) })).status, 413)
    assert.equal(filesIn(root).stored.length, 1)
  })
})
