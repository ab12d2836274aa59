import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import { type Api, spawnService } from '@plinth/kit/testing'
import { ADMIN, engines, MASTER_KEY } from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')

const refresh = (api: Api, refreshToken: string) => api.post('/api/auth/refresh', { refreshToken })

/** Refreshes until the service is killed; returns every token received. */
async function refreshUntilKilled(api: Api, newest: string, onReply: () => void) {
  const tokens = [newest]
  try {
    for (;;) {
      const { body } = await refresh(api, tokens.at(-1) ?? '')
      tokens.push(body.refreshToken)
      onReply()
    }
  } catch {
    return tokens
  }
}

for (const engine of engines) {
  describe(`a service that is killed on ${engine.name}`, engine.options, () => {
    test('keeps every rotation, logout and session that it acknowledged', async (t) => {
      const env = {
        SUITE_DATA: tmpdir(),
        IDENTITY_PORT: '0',
        IDENTITY_MASTER_KEY: MASTER_KEY,
        IDENTITY_DATABASE_URL: await engine.freshUrl(t),
        ...cheapHashing('IDENTITY_'),
      }
      const first = await spawnService(t, MAIN, env)
      const { body: kept } = await first.api.post('/api/auth/login', ADMIN)
      const { body: ended } = await first.api.post('/api/auth/login', ADMIN)
      const { refreshToken } = ended
      await first.api.post('/api/auth/logout', { refreshToken }, { token: ended.accessToken })
      const logIn = async (): Promise<string> =>
        (await first.api.post('/api/auth/login', ADMIN)).body.refreshToken
      // All of them before the first refresh: a late one would find the service killed.
      const sessions = [await logIn(), await logIn(), await logIn(), await logIn()]
      let replies = 0
      const onReply = () => {
        replies += 1
        if (replies === 40) void first.kill('SIGKILL')
      }

      const chains = await Promise.all(
        sessions.map((newest) => refreshUntilKilled(first.api, newest, onReply)),
      )
      await first.ended
      const second = await spawnService(t, MAIN, env)

      assert.equal((await refresh(second.api, kept.refreshToken)).status, 200)
      assert.equal((await refresh(second.api, refreshToken)).status, 401)
      for (const tokens of chains)
        for (const spent of tokens.slice(0, -1))
          assert.equal((await refresh(second.api, spent)).status, 401)
    })
  })
}
