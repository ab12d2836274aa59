import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Api, type ApiReply, sampleFiles } from '@plinth/kit/testing'
import { replace } from './replace-file.ts'
import { engines, sharedStorage, upload } from './start-storage.ts'

const SCOPES = ['files:read', 'files:write', 'links:write', 'users:read', 'users:write']

for (const engine of engines)
  describe(`service keys of the full edition, on ${engine.name}`, engine.options, () => {
    const { service, newcomer } = sharedStorage(engine)
    const newKey = async (...scopes: string[]) => {
      const { api, admin } = service()
      const body = { name: `with ${scopes.join(' ')}`, scopes }
      const { body: key, status } = await api.post('/api/service-keys', body, { token: admin })
      assert.equal(status, 201)
      return { id: key.id as number, secret: key.secret as string }
    }

    test('a key uploads, lists, reads and deletes files of its own', async () => {
      const { api, user } = await newcomer()
      const { id, secret: token } = await newKey('files:read', 'files:write')
      const ofUser = await upload(api, user)

      const { status, body: file } = await upload(api, token)

      assert.deepEqual([status, file.ownerId], [201, `key-${id}`])
      const { body: listed } = await api.get('/file/list', { token })
      assert.deepEqual(idsOf(listed), [file.id])
      const bytes = await download(service().baseUrl, file.id, token)
      assert.ok(bytes.equals(sampleFiles.png))
      assert.equal((await api.get('/file/usage', { token })).body.files, 1)
      assert.equal((await api.get(`/file/info/${ofUser.body.id}`, { token })).status, 403)
      assert.equal((await api.get(`/file/info/${file.id}`, { token: user })).status, 403)
      assert.equal((await api.delete(`/file/${file.id}`, { token })).status, 204)
    })

    test('the example of the API document is accepted', async () => {
      const { api, admin } = service()
      const { paths } = (await api.get('/openapi.json')).body
      const { example } = paths['/api/service-keys'].post.requestBody.content['application/json']

      const { status, body } = await api.post('/api/service-keys', example, { token: admin })

      assert.deepEqual([status, body.scopes], [201, ['files:read']])
    })

    test('an administrator sees the files of keys, and the audit has their creation', async () => {
      const { api, admin } = service()
      const { id, secret } = await newKey('files:write')
      const { body: file } = await upload(api, secret)

      const { body: shown } = await api.get(`/file/info/${file.id}`, { token: admin })

      assert.equal(shown.owner, 'with files:write')
      const audit = await eventsAbout(api, admin, `key ${id} `)
      assert.deepEqual(audit, [['SERVICE_KEY_CREATED', 'admin', 'SUCCESS']])
    })

    test('a request without the scope is 403, names the scope and is in the audit', async () => {
      const { api, admin } = service()
      const { id, secret: token } = await newKey('files:read')

      const refused = await upload(api, token)

      assert.deepEqual([refused.status, refused.body.code], [403, 'INSUFFICIENT_SCOPE'])
      const challenge = 'Bearer error="insufficient_scope", scope="files:write"'
      assert.equal(refused.headers.get('www-authenticate'), challenge)
      const link = { id: 1, expiresInSeconds: 60 }
      const others = [
        await api.post('/file/generate-pre-signed-url', link, { token }),
        await api.get('/api/users', { token }),
      ]
      assert.deepEqual(
        others.map(({ status }) => status),
        [403, 403],
      )
      const denied = await eventsAbout(api, admin, 'POST /file')
      assert.deepEqual(denied[0], ['ACCESS_DENIED', `key ${id} (with files:read)`, 'REFUSED'])
    })

    test('folders, changes, versions and the trash need files:write to change, files:read to look', async () => {
      const { api } = service()
      const reading = await newKey('files:read')
      const writing = await newKey('files:write')
      const both = await newKey('files:read', 'files:write')
      const attempt = async ({ secret: token }: { secret: string }) => {
        const { body: file } = await upload(api, both.secret)
        const [{ id }, none] = [file, undefined]
        const png = { bytes: sampleFiles.png, name: 'p.png', type: 'image/png' }
        return {
          changes: [
            await replace(api, token, id, png),
            await api.patch(`/file/${id}`, { tags: ['a'] }, { token }),
            await api.post(`/file/${id}/versions/1/restore`, none, { token }),
            await api.delete(`/file/${id}/versions/1`, { token }),
            await api.post('/file/folders', { path: '/a' }, { token }),
            await api.post('/file/folders/move', { from: '/a', to: '/b' }, { token }),
            await api.delete('/file/folders?path=/b', { token }),
            await api.post('/file/bulk', { action: 'trash', ids: [id] }, { token }),
            await api.post(`/file/${id}/restore`, none, { token }),
            await api.delete('/file/deleted', { token }),
          ].map(codeOf),
          looks: [
            await api.get(`/file/${id}/versions`, { token }),
            await api.get(`/file/${id}/versions/1`, { token }),
            await api.get('/file/folders', { token }),
            await api.get('/file/search', { token }),
            await api.get('/file/deleted', { token }),
          ].map(codeOf),
        }
      }
      const isRefused = (code: string) => code === 'INSUFFICIENT_SCOPE'

      const [reader, writer, all] = [
        await attempt(reading),
        await attempt(writing),
        await attempt(both),
      ]

      assert.ok(reader.changes.every(isRefused), `${reader.changes}`)
      assert.ok(!reader.looks.some(isRefused), `${reader.looks}`)
      assert.ok(!writer.changes.some(isRefused), `${writer.changes}`)
      assert.ok(writer.looks.every(isRefused), `${writer.looks}`)
      assert.deepEqual(all, {
        changes: [200, 200, 404, 404, 201, 200, 204, 200, 200, 200].map(String),
        looks: [200, 404, 200, 200, 200].map(String),
      })
    })

    test('a key is never an administrator, whatever its scopes', async () => {
      const { api } = service()
      const { secret: token } = await newKey(...SCOPES)

      const replies = [
        await api.get('/api/storage/status', { token }),
        await api.get('/api/service-keys', { token }),
        await api.get('/api/users/me', { token }),
      ]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [401, 401, 401],
      )
      assert.equal((await api.get('/api/users', { token })).status, 200)
    })

    test('a rotated key keeps the files of the old one; links end with the last key', async () => {
      const { api, admin } = service()
      const { id, secret } = await newKey('files:read', 'files:write', 'links:write')
      const { body: file } = await upload(api, secret)
      const request = { id: file.id, expiresInSeconds: 3600 }
      const { body: link } = await api.post('/file/generate-pre-signed-url', request, {
        token: secret,
      })
      const rotation = { overlapSeconds: 0 }
      const rotated = await api.post(`/api/service-keys/${id}/rotate`, rotation, { token: admin })
      const { secret: token, id: newId } = rotated.body

      assert.equal((await api.get('/file/list', { token: secret })).status, 401)
      assert.deepEqual(idsOf((await api.get('/file/list', { token })).body), [file.id])
      assert.equal((await api.get(`/file/presigned/${link.token}`)).status, 200)
      await api.delete(`/api/service-keys/${newId}`, { token: admin })

      assert.equal((await api.get('/file/list', { token })).status, 401)
      assert.equal((await api.get(`/file/presigned/${link.token}`)).status, 404)
    })
  })

const codeOf = ({ status, body }: ApiReply) =>
  body?.code === 'INSUFFICIENT_SCOPE' ? 'INSUFFICIENT_SCOPE' : `${status}`

const idsOf = (files: { id: number }[]) => files.map(({ id }) => id)

async function download(baseUrl: string, id: number, token: string): Promise<Buffer> {
  const headers = { authorization: `Bearer ${token}` }
  const reply = await fetch(`${baseUrl}/file/download/${id}`, { headers })
  return Buffer.from(await reply.arrayBuffer())
}

type AuditRow = { event: string; actor: string; subject: string; result: string }

async function eventsAbout(api: Api, token: string, subject: string): Promise<string[][]> {
  const { body } = await api.get('/api/audit?size=200', { token })
  const rows = (body.content as AuditRow[]).filter((row) => row.subject?.startsWith(subject))
  return rows.map(({ event, actor, result }) => [event, actor, result])
}
