import assert from 'node:assert/strict'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { startStorageKey, upload } from './start-storage-key.ts'

async function startWithFile(t: TestContext) {
  const service = await startStorageKey(t)
  writeFileSync(join(service.root, 'digits.png'), '0123456789')
  utimesSync(join(service.root, 'digits.png'), 0, 1_800_000_000)
  return service
}

describe('GET /file/{filename}', () => {
  test('streams the stored file as an attachment', async (t) => {
    const { api } = await startStorageKey(t)
    const { body: name } = await upload(api, { content: sampleFiles.png })

    const reply = await api.get(`/file/${name}`)

    assert.equal(reply.status, 200)
    assert.ok(reply.bytes.equals(sampleFiles.png))
    assert.equal(reply.headers.get('content-type'), 'image/png')
    assert.equal(
      reply.headers.get('content-disposition'),
      `attachment; filename="${name}"; filename*=UTF-8''${name}`,
    )
    assert.equal(reply.headers.get('content-length'), String(sampleFiles.png.length))
    assert.equal(reply.headers.get('accept-ranges'), 'bytes')
    assert.match(reply.headers.get('etag') ?? '', /^"[^"]+"$/)
  })

  test('has the headers that make it safe in a browser', async (t) => {
    const { api } = await startWithFile(t)

    const { headers } = await api.get('/file/digits.png')

    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox")
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.match(headers.get('cache-control') ?? '', /^private/)
  })

  for (const [name, type] of [
    ['a.jpg', 'image/jpeg'],
    ['a.JPEG', 'image/jpeg'],
    ['a.pdf', 'application/pdf'],
    ['a.webp', 'image/webp'],
    ['a.html', 'text/html'],
    ['a.svg', 'image/svg+xml'],
    ['a.mp4', 'video/mp4'],
    [
      'report.final.docx',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    ],
    ['a', 'application/octet-stream'],
    ['html', 'application/octet-stream'],
    ['a.unknown', 'application/octet-stream'],
    ['a.', 'application/octet-stream'],
  ] as const)
    test(`derives ${type} from the name ${name}`, async (t) => {
      const { api, root } = await startStorageKey(t)
      writeFileSync(join(root, name), 'x')

      const { headers } = await api.get(`/file/${name}`)

      assert.equal(headers.get('content-type'), type)
      assert.equal((await api.get(`/file/info/${name}`)).body.mimeType, type)
      assert.match(headers.get('content-disposition') ?? '', /^attachment;/)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; sandbox")
    })

  test('answers 404 for a file that is missing', async (t) => {
    const { api } = await startStorageKey(t)

    const reply = await api.get('/file/missing.png')

    assert.equal(reply.status, 404)
    assert.deepEqual(reply.body, {
      timestamp: '2030-01-01T00:00:00.000Z',
      status: 404,
      error: 'Not Found',
      message: 'There is no such file.',
      path: '/file/missing.png',
    })
  })

  test('serves an empty file', async (t) => {
    const { api, root } = await startStorageKey(t)
    writeFileSync(join(root, 'empty.png'), '')

    const reply = await api.get('/file/empty.png')

    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('content-length'), '0')
  })

  for (const [range, status, body, contentRange] of [
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=5-5', 206, '5', 'bytes 5-5/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=9-5', 200, '0123456789', null],
    ['bytes=0-1,4-5', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
  ] as const)
    test(`Range: ${range} gives ${status}`, async (t) => {
      const { api } = await startWithFile(t)

      const reply = await api.get('/file/digits.png', { headers: { range } })

      assert.equal(reply.status, status)
      assert.equal(reply.bytes.toString(), body)
      assert.equal(reply.headers.get('content-range'), contentRange)
    })

  for (const [headers, status, error, contentRange] of [
    [{ range: 'bytes=10-' }, 416, 'Range Not Satisfiable', 'bytes */10'],
    [{ range: 'bytes=-0' }, 416, 'Range Not Satisfiable', 'bytes */10'],
    [{ 'if-match': '"x"' }, 412, 'Precondition Failed', null],
  ] as const)
    test(`${JSON.stringify(headers)} gives ${status} with the usual error body`, async (t) => {
      const { api } = await startWithFile(t)
      const { headers: whole } = await api.get('/file/digits.png')

      const reply = await api.get('/file/digits.png', { headers: { ...headers } })
      const head = await api.head('/file/digits.png', { headers: { ...headers } })

      assert.equal(reply.status, status)
      assert.equal(reply.headers.get('content-range'), contentRange)
      assert.equal(reply.headers.get('etag'), whole.get('etag'))
      assert.deepEqual([reply.body.error, reply.body.path], [error, '/file/digits.png'])
      assert.equal(head.bytes.length, 0)
    })

  test('honours conditional requests', async (t) => {
    const { api } = await startWithFile(t)
    const first = await api.get('/file/digits.png')
    const etag = first.headers.get('etag') ?? ''
    const modified = first.headers.get('last-modified') ?? ''
    const status = async (headers: Record<string, string>) =>
      (await api.get('/file/digits.png', { headers })).status

    assert.equal(modified, 'Fri, 15 Jan 2027 08:00:00 GMT')
    assert.equal(await status({ 'if-none-match': etag }), 304)
    assert.equal(await status({ 'if-none-match': '"x"' }), 200)
    assert.equal(await status({ 'if-modified-since': modified }), 304)
    assert.equal(await status({ 'if-match': '"x"' }), 412)
    assert.equal(await status({ range: 'bytes=0-1', 'if-range': etag }), 206)
    assert.equal(await status({ range: 'bytes=0-1', 'if-range': modified }), 206)
    assert.equal(await status({ range: 'bytes=0-1', 'if-range': '"x"' }), 200)
  })

  test('dates a file from the future with the date of the reply, which no condition accepts', async (t) => {
    const { api, root, clock } = await startWithFile(t)
    utimesSync(join(root, 'digits.png'), 0, 1_900_000_000)
    const get = (headers: Record<string, string> = {}) => api.get('/file/digits.png', { headers })

    const modified = (await get()).headers.get('last-modified') ?? ''
    const unmodified = await get({ 'if-modified-since': modified })
    const resumed = await get({ range: 'bytes=0-1', 'if-range': modified })
    clock.set(new Date('2031-01-01'))
    const later = await get()

    assert.equal(modified, 'Tue, 01 Jan 2030 00:00:00 GMT')
    assert.deepEqual([unmodified.status, resumed.status], [200, 200])
    assert.equal(later.headers.get('last-modified'), 'Sun, 17 Mar 2030 17:46:40 GMT')
  })

  test('HEAD gives the headers of GET and no body', async (t) => {
    const { api } = await startWithFile(t)

    const reply = await api.head('/file/digits.png')

    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('content-length'), '10')
    assert.equal(reply.bytes.length, 0)
    assert.equal((await api.head('/file/none.png')).status, 404)
  })
})
