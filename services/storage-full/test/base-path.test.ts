import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { startStorage } from './start-storage.ts'

describe('the full storage edition at a public URL with a path', () => {
  for (const [proxy, base] of [
    ['strips it', ''],
    ['does not strip it', '/files'],
  ] as const)
    test(`works behind a proxy that ${proxy}`, async (t) => {
      const { api, user, admin } = await startStorage(t, {
        STORAGE_FULL_PUBLIC_URL: 'https://app.example/files',
      })
      const form = new FormData()
      form.append(
        'file',
        new Blob([new Uint8Array(sampleFiles.png)], { type: 'image/png' }),
        'a.png',
      )

      const uploaded = await api.request('POST', `${base}/file`, { token: user, body: form })
      const location = uploaded.headers.get('location') ?? ''
      const { id } = uploaded.body
      const list = await api.get(`${base}/file/list?page=0&size=1`, { token: user })
      const link = await api.post(
        `${base}/file/generate-pre-signed-url`,
        { id, expiresInSeconds: 60 },
        { token: user },
      )
      const opened = await api.get(`${base}/file/presigned/${link.body.token}`)
      const missing = await api.get(`${base}/file/info/999`, { token: user })
      const move = await api.post(`${base}/api/storage/moves`, { to: 'LOCAL' }, { token: admin })
      const redirect = await api.get(`${base}/api-test`)

      assert.deepEqual([uploaded.status, location], [201, `/files/file/info/${id}`])
      assert.equal((await api.get(location, { token: user })).body.id, id)
      assert.match(
        list.headers.get('link') ?? '',
        /^<\/files\/file\/list\?page=0&size=1>; rel="first"/,
      )
      assert.equal(link.body.url, `https://app.example/files/file/presigned/${link.body.token}`)
      assert.deepEqual([opened.status, opened.bytes], [200, Buffer.from(sampleFiles.png)])
      assert.deepEqual([missing.status, missing.body.instance], [404, '/files/file/info/999'])
      assert.equal(move.headers.get('location'), `/files/api/storage/moves/${move.body.id}`)
      assert.equal(redirect.headers.get('location'), '/files/api-test/index.html')
    })
})
