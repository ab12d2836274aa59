import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { armFailPoint } from '@plinth/kit/runtime'
import { loggedLines } from '../../../test/logged-lines.ts'
import { engines, startStorage, upload } from './start-storage.ts'

const FILES = 5

/** What fails, where, for which requests, and the only error that is logged about it. */
const OUTAGES: [name: string, failing: string, path: string, message: string][] = [
  [
    'thumbnails that cannot be made',
    'upload:write=ENOSPC',
    '/file/thumbnail/',
    'a thumbnail cannot be made, because nothing can be stored',
  ],
  [
    'thumbnails that cannot be kept',
    'publish:named=ENOSPC',
    '/file/thumbnail/',
    'a thumbnail could not be kept',
  ],
  [
    'pictures that cannot be kept',
    'picture:put=ENOSPC',
    '/file/picture/',
    'a rendition could not be kept',
  ],
]

for (const engine of engines)
  describe(`an outage is logged once, then counted, on ${engine.name}`, engine.options, () => {
    for (const [name, failing, path, message] of OUTAGES)
      test(name, async (t) => {
        const env = { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) }
        const { api, server, user } = await startStorage(t, env)
        const ids: number[] = []
        for (let n = 0; n < FILES; n += 1) ids.push((await upload(api, user)).body.id)
        const { lines, endOutages } = loggedLines(server)
        armFailPoint({ NODE_ENV: 'test', FAIL_POINT: failing })
        t.after(() => armFailPoint({}))

        const query = path.includes('picture') ? '?width=64' : ''
        const replies = await Promise.all(
          ids.map((id) => api.get(`${path}${id}${query}`, { token: user })),
        )
        endOutages()

        assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
        const errors = lines.filter(({ level }) => level === 'error')
        assert.deepEqual(errors, [{ level: 'error', message }])
        const ends = lines.filter(({ failures }) => failures !== undefined)
        assert.deepEqual(ends, [{ level: 'info', message: `over: ${message}`, failures: FILES }])
      })
  })
