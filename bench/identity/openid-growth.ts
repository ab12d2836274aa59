import { openDatabase } from '@plinth/kit/database'
import { sql } from 'kysely'
import { identityMigrations } from '../../services/identity/src/database/migrations/index.ts'
import type { IdentityTables } from '../../services/identity/src/database/tables.ts'
import { atMost, number, type Row } from '../harness/row.ts'
import { openClient } from './client.ts'
import { inTurns, requestsOf } from './openid-requests.ts'
import { ADMIN, withIdentity } from './service.ts'
import { seededDatabase } from './users.ts'

const FEW = 100
const MANY = 100_000
const CLIENT_ID = 'AAAAAAAAAAAAAAAAAAAAAA'
const BAR = 1.3

/** The same requests with few and with many grants and sessions of clients. */
export function openidGrowth(): Promise<Row[]> {
  return withGrants(FEW, (few) =>
    withGrants(MANY, async (many) => {
      const spent = await inTurns({
        login: few.login,
        loginWithMany: many.login,
        me: few.me,
        meWithMany: many.me,
        authorize: few.authorize,
        authorizeWithMany: many.authorize,
        exchange: few.exchange,
        exchangeWithMany: many.exchange,
        refresh: few.refresh,
        refreshWithMany: many.refresh,
        userInfo: few.userInfo,
        userInfoWithMany: many.userInfo,
      })
      return [
        row('a login', spent.login, spent.loginWithMany),
        row('GET /api/users/me', spent.me, spent.meWithMany),
        row('authorize', spent.authorize, spent.authorizeWithMany),
        row('a code exchange', spent.exchange, spent.exchangeWithMany),
        row('a refresh of a client', spent.refresh, spent.refreshWithMany),
        row('userinfo', spent.userInfo, spent.userInfoWithMany),
      ]
    }),
  )
}

type Requests = Awaited<ReturnType<typeof requestsOf>>

async function withGrants<T>(count: number, work: (requests: Requests) => Promise<T>): Promise<T> {
  const database = await seededDatabase(count)
  try {
    await seedGrants(database.url)
    return await withIdentity(
      async ({ server }) =>
        work(await requestsOf(server, await openClient(server, ADMIN, CLIENT_ID))),
      { IDENTITY_DATABASE_URL: database.url, IDENTITY_MASTER_KEY: database.masterKey },
    )
  } finally {
    database.remove()
  }
}

/** A client that every user has allowed, and is signed in to, in a browser and beyond. */
async function seedGrants(url: string): Promise<void> {
  const { db, close } = await openDatabase<IdentityTables>(url, identityMigrations)
  const now = new Date().toISOString()
  const later = new Date(Date.now() + 86_400_000).toISOString()
  await db
    .insertInto('clients')
    .values({
      client_id: CLIENT_ID,
      name: 'bench',
      redirect_uris: JSON.stringify(['https://app.example/callback']),
      post_logout_redirect_uris: '[]',
      auth_method: 'client_secret',
      grant_types: JSON.stringify(['authorization_code', 'refresh_token']),
      scopes: JSON.stringify(['openid', 'profile', 'email', 'offline_access']),
      resources: '[]',
      first_party: 1,
      require_pkce: 1,
      require_par: 0,
      id_token_alg: 'RS256',
      enabled: 1,
      created_by: 'bench',
      created_at: now,
      updated_at: now,
    })
    .execute()
  await sql`insert into grants (user_id, client_id, scopes, resources, created_at)
    select id, ${CLIENT_ID}, '["openid"]', '[]', ${now} from users`.execute(db)
  await sql`insert into sessions (user_id, token_family, token_hash, generation, state, created_at,
      last_used_at, expires_at, address, browser_hash)
    select id, 'browser' || id, 'browser' || id, 1, 'active', ${now}, ${now}, ${later}, 'bench',
      'browser' || id from users`.execute(db)
  await sql`insert into sessions (user_id, token_family, token_hash, generation, state, created_at,
      last_used_at, expires_at, address, client_id, scope, resources, parent_id, begun_in)
    select user_id, 'client' || id, 'client' || id, 1, 'active', ${now}, ${now}, ${later}, 'bench',
      ${CLIENT_ID}, 'openid', '[]', id, id from sessions where browser_hash is not null`.execute(db)
  await close()
}

function row(what: string, few: number, many: number): Row {
  const amount = `${number(MANY)} grants and sessions of clients, against ${FEW}`
  return {
    what: `processor time of ${what} with ${amount}`,
    ours: `${many.toFixed(3)} ms`,
    baseline: `${few.toFixed(3)} ms`,
    ratio: many / few,
    ...atMost(BAR, many / few),
  }
}
