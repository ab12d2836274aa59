import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { sampleFiles } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { openStorage } from '../src/app.ts'
import { engines, register, startStorage, type TestStorage, upload } from './start-storage.ts'

const PATH = '/file/generate-pre-signed-url'
const STRICT = "default-src 'none'; sandbox"

for (const engine of engines)
  describe(`temporary links, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const url = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL: url, ...env })
      const { body: file } = await upload(service.api, service.user)
      const link = async (expiresInSeconds = 60) =>
        (await service.api.post(PATH, { id: file.id, expiresInSeconds }, { token: service.user }))
          .body
      return { ...service, file, link }
    }

    test('POST /file/generate-pre-signed-url creates temporary access for the owner', async (t) => {
      const { api, user, file } = await start(t)

      const reply = await api.post(PATH, { id: file.id, expiresInSeconds: 60 }, { token: user })

      assert.equal(reply.status, 200)
      const { token, url, ...rest } = reply.body
      assert.match(token, /^[\w-]{43}$/)
      assert.equal(url, `http://localhost:8082/file/presigned/${token}`)
      assert.deepEqual(rest, {
        id: file.id,
        expiresInSeconds: 60,
        expiresAt: '2030-01-01T00:01:00.000Z',
      })
    })

    test('GET /file/presigned/{token} needs no credentials, and works until it expires', async (t) => {
      const { api, clock, link } = await start(t)
      const { token } = await link(60)

      const opened = await api.get(`/file/presigned/${token}`, { token: 'ignored' })
      const part = await api.get(`/file/presigned/${token}`, { headers: { range: 'bytes=0-3' } })
      clock.advance(59)
      const inTime = await api.get(`/file/presigned/${token}`)
      clock.advance(1)
      const late = await api.get(`/file/presigned/${token}`)

      assert.equal(opened.status, 200)
      assert.ok(opened.bytes.equals(sampleFiles.png))
      assert.match(opened.headers.get('content-disposition') ?? '', /^inline/)
      assert.equal(opened.headers.get('referrer-policy'), 'no-referrer')
      assert.equal(opened.headers.get('x-robots-tag'), 'noindex')
      assert.equal(opened.headers.get('cache-control'), 'no-store')
      assert.deepEqual([part.status, part.bytes.length], [206, 4])
      assert.equal(inTime.status, 200)
      assert.deepEqual([late.status, late.body.code], [404, 'LINK_NOT_FOUND'])
    })

    test('the links of a disabled owner are 404 until the owner is enabled again', async (t) => {
      const { api, admin, link, user } = await start(t)
      const { token } = await link(60)
      const { body: owner } = await api.get('/api/users/me', { token: user })
      const enable = (enabled: boolean) =>
        api.patch(`/api/users/${owner.id}`, { enabled }, { token: admin })
      const open = (method: string) => api.request(method, `/file/presigned/${token}`)

      await enable(false)
      const refused = [await open('GET'), await open('HEAD')]
      await enable(true)
      const opened = await open('GET')

      assert.deepEqual(
        refused.map(({ status }) => status),
        [404, 404],
      )
      assert.equal(refused[0]?.body.code, 'LINK_NOT_FOUND')
      assert.equal(opened.status, 200)
    })

    test('a link of the longest lifetime works to its last second', async (t) => {
      const { api, clock, link } = await start(t)
      const { token } = await link(604_800)
      const statusOf = async () => (await api.get(`/file/presigned/${token}`)).status

      clock.advance(604_799)
      const inTime = await statusOf()
      clock.advance(1)

      assert.deepEqual([inTime, await statusOf()], [200, 404])
    })

    test('refuses in this order: 401, 400, 404, 403', async (t) => {
      const { api, user, file, admin } = await start(t)
      const mallory = await register(api, 'mallory')
      const statusOf = async (body: unknown, token?: string) =>
        (await api.post(PATH, body, { token })).status

      assert.equal(await statusOf({}), 401)
      assert.equal(await statusOf({}, 'bad'), 401)
      assert.equal(await statusOf({ id: 999, expiresInSeconds: 60 }, mallory), 404)
      assert.equal(await statusOf({ id: file.id, expiresInSeconds: 60 }, mallory), 403)
      assert.equal(await statusOf({ id: file.id, expiresInSeconds: 60 }, admin), 200)
      for (const seconds of [1, 604_800])
        assert.equal(await statusOf({ id: file.id, expiresInSeconds: seconds }, user), 200)
      for (const expiresInSeconds of [0, -1, 604_801, '60', 1.5, null, undefined, true])
        assert.equal(await statusOf({ id: file.id, expiresInSeconds }, user), 400)
      for (const id of [0, -1, 1.5, '1', null, undefined, 2 ** 60])
        assert.equal(await statusOf({ id, expiresInSeconds: 60 }, user), 400)
    })

    test('reports every invalid field at once', async (t) => {
      const { api, user } = await start(t)

      const { body } = await api.post(PATH, {}, { token: user })

      assert.equal(body.code, 'VALIDATION_ERROR')
      assert.deepEqual(
        body.errors.map((error: string) => error.split(':')[0]),
        ['id', 'expiresInSeconds'],
      )
    })

    test('a forged or altered token, and a link to a deleted file, are all 404', async (t) => {
      const { api, user, file, link } = await start(t)
      const { token } = await link()
      const statusOf = async (tried: string) => (await api.get(`/file/presigned/${tried}`)).status

      for (let index = 0; index < token.length - 1; index++) {
        const other = token[index] === 'A' ? 'B' : 'A'
        assert.equal(await statusOf(token.slice(0, index) + other + token.slice(index + 1)), 404)
      }
      for (const tried of [token.slice(1), `${token}A`, 'x', '%00', 'a'.repeat(5000)])
        assert.equal(await statusOf(tried), 404, tried)
      assert.equal(await statusOf(token), 200)
      await api.delete(`/file/${file.id}`, { token: user })
      assert.equal(await statusOf(token), 404)
    })

    test('a browser gets a page for a link that no longer works, and a program the problem', async (t) => {
      const { api, clock, link } = await start(t)
      const { token } = await link(60)
      const path = `/file/presigned/${token}`
      const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
      assert.equal((await api.get(path, { headers })).status, 200)
      clock.advance(61)

      const page = await api.get(path, { headers })
      const german = await api.get(path, { headers: { ...headers, 'accept-language': 'de-AT' } })
      const problem = await api.get(path)
      const picture = await api.get(path, { headers: { accept: 'image/avif,image/*,*/*;q=0.8' } })

      assert.equal(page.status, 404)
      assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
      assert.match(page.body, /<h1>This link no longer works<\/h1>/)
      assert.match(
        page.headers.get('content-security-policy') ?? '',
        /^default-src 'none'; style-src/,
      )
      assert.match(german.body, /<html lang="de">/)
      assert.match(german.body, /<h1>Dieser Link funktioniert nicht mehr<\/h1>/)
      for (const { status, body } of [problem, picture])
        assert.deepEqual([status, body.code], [404, 'LINK_NOT_FOUND'])
      const vary = [page, german, problem, picture].map(({ headers }) => headers.get('vary'))
      const byLanguage = 'accept, accept-language'
      assert.deepEqual(vary, [byLanguage, byLanguage, 'accept', 'accept'])
    })

    test('a link that could not be stored is 404, not a token that never works', async (t) => {
      const service = await start(t)
      const { api, user, file } = service
      await refuseLinks(t, service)

      const reply = await api.post(PATH, { id: file.id, expiresInSeconds: 60 }, { token: user })

      assert.deepEqual([reply.status, reply.body.code], [404, 'FILE_NOT_FOUND'])
      assert.equal(reply.body.token, undefined)
    })

    test('a picture is shown and a video or a song plays when its link is opened, and no script runs', async (t) => {
      const { api, user } = await start(t)
      const media = {
        mp4: 'video/mp4',
        mp3: 'audio/mpeg',
        png: 'image/png',
        pdf: 'application/pdf',
      } as const

      const policies = []
      for (const [extension, type] of Object.entries(media)) {
        const bytes = sampleFiles[extension as keyof typeof media]
        const { body } = await upload(api, user, { name: `x.${extension}`, type, bytes })
        const asked = { id: body.id, expiresInSeconds: 60 }
        const { body: link } = await api.post(PATH, asked, { token: user })
        const opened = await api.get(`/file/presigned/${link.token}`)
        const streamed = await api.get(`/file/stream/${body.id}`, { token: user })
        policies.push(opened.headers.get('content-security-policy'))
        assert.equal(streamed.headers.get('content-security-policy'), STRICT)
      }

      const playable = "default-src 'none'; media-src 'self'; sandbox allow-same-origin"
      const visible = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
      assert.deepEqual(policies, [playable, playable, visible, STRICT])
    })

    for (const [embed, policy] of [
      [undefined, 'cross-origin'],
      ['anyone', 'cross-origin'],
      ['same-origin', 'same-origin'],
    ] as const)
      test(`with STORAGE_FULL_EMBED=${embed} the resource policy of links is ${policy}`, async (t) => {
        const env: Record<string, string> = embed ? { STORAGE_FULL_EMBED: embed } : {}
        const { api, user, file, link } = await start(t, env)
        const { token } = await link()

        const opened = await api.get(`/file/presigned/${token}`)
        const streamed = await api.get(`/file/stream/${file.id}`, { token: user })

        assert.equal(opened.headers.get('cross-origin-resource-policy'), policy)
        assert.equal(opened.headers.get('cache-control'), 'no-store')
        assert.equal(streamed.headers.get('cross-origin-resource-policy'), 'same-origin')
      })

    test('the owner sees how often a link was opened, and can revoke it', async (t) => {
      const { api, user, clock, file, link } = await start(t)
      const mallory = await register(api, 'mallory')
      const { token } = await link(600)
      clock.advance(10)
      await api.get(`/file/presigned/${token}`)
      await api.head(`/file/presigned/${token}`)
      const path = `/file/${file.id}/links`

      const { body: links } = await api.get(path, { token: user })

      assert.deepEqual(links, [
        {
          id: 1,
          createdAt: '2030-01-01T00:00:00.000Z',
          expiresAt: '2030-01-01T00:10:00.000Z',
          openedCount: 1,
          lastOpenedAt: '2030-01-01T00:00:10.000Z',
        },
      ])
      assert.equal((await api.get(path, { token: mallory })).status, 403)
      assert.equal((await api.delete(`${path}/1`, { token: mallory })).status, 403)
      assert.equal((await api.delete(`${path}/1`, { token: user })).status, 204)
      assert.equal((await api.delete(`${path}/1`, { token: user })).status, 404)
      assert.equal((await api.get(`/file/presigned/${token}`)).status, 404)
      assert.deepEqual((await api.get(path, { token: user })).body, [])
    })

    test('a link used while it is revoked stops working once the revocation is answered', async (t) => {
      const { api, user, file, link } = await start(t)
      const { token } = await link()
      const open = () => api.get(`/file/presigned/${token}`)

      const opening = Array.from({ length: 20 }, open)
      await api.delete(`/file/${file.id}/links/1`, { token: user })
      const after = await open()

      assert.equal(after.status, 404)
      for (const { status } of await Promise.all(opening)) assert.ok([200, 404].includes(status))
    })
  })

/** Makes the database ignore new links, as if the file were deleted at the same moment. */
async function refuseLinks(t: TestContext, { config, clock }: TestStorage): Promise<void> {
  const log = createLogger('links', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  t.after(() => database.close())
  const statements = config.databaseUrl.startsWith('sqlite:')
    ? ['create trigger no_link before insert on temporary_links begin select raise(ignore); end']
    : [
        "create function no_link() returns trigger as 'begin return null; end' language plpgsql",
        'create trigger no_link before insert on temporary_links for each row execute function no_link()',
      ]
  for (const statement of statements) await sql.raw(statement).execute(storage.db)
}
