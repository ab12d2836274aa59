import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rawRequest } from './raw-request.ts'
import { form, PNG, startStorageKey } from './start-storage-key.ts'

// The second is the hardest case: the base path equals the service's own /file.
for (const path of ['/store', '/file'])
  describe(`the key storage edition at a public URL with the path ${path}`, () => {
    for (const [proxy, base] of [
      ['strips it', ''],
      ['does not strip it', path],
    ] as const)
      test(`works behind a proxy that ${proxy}`, async (t) => {
        const { api, anonymous } = await startStorageKey(t, {
          STORAGE_KEY_PUBLIC_URL: `https://app.example${path}`,
        })

        const uploaded = await api.request('POST', `${base}/file`, { body: form() })
        const read = await api.get(`${base}/file/${uploaded.body}`)
        const info = await api.get(`${base}/file/info/${uploaded.body}`)
        const list = await api.get(`${base}/file/list`)
        const missing = await api.get(`${base}/file/none.png`)
        const strangers = await Promise.all([
          anonymous.get(`${base}/file/list`),
          anonymous.get(`${base}/file/${uploaded.body}`),
          anonymous.request('POST', `${base}/file`, { body: form() }),
        ])
        const redirect = await anonymous.get(`${base}/api-test`)

        assert.equal(uploaded.status, 200)
        assert.deepEqual(read.bytes, PNG)
        assert.equal(info.status, 200)
        assert.deepEqual(list.body, [uploaded.body])
        assert.deepEqual([missing.status, missing.body.path], [404, `${path}/file/none.png`])
        assert.deepEqual(
          strangers.map(({ status }) => status),
          [401, 401, 401],
        )
        assert.equal(redirect.headers.get('location'), `${path}/api-test/index.html`)
      })
  })

test('no spelling of a target below the base path bypasses the key', async (t) => {
  const { port } = await startStorageKey(t, {
    STORAGE_KEY_PUBLIC_URL: 'https://app.example/store',
  })

  for (const target of [
    '/%66ile/list',
    '//file/list',
    '/x/../file/a.png',
    '/..;/file/a.png',
    '/FILE/list',
    '/.%2ffile/a.png',
  ]) {
    const { status } = await rawRequest(port, `/store${target}`, { key: null })
    assert.equal(status, 401, target)
  }
})
