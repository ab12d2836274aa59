import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Db, openDatabase } from '@plinth/kit/database'
import { CompiledQuery, sql } from 'kysely'
import { filteredIds } from '../../../packages/accounts/src/database/audit.repository.ts'
import { listContaining } from '../../../packages/accounts/src/database/contained-names.repository.ts'
import {
  matchingUsers,
  walksOf,
} from '../../../packages/accounts/src/database/user-search.repository.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { enrol } from './authenticator-app.ts'
import { ALICE, adminToken, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const CROWD = 20_000

/** `person100001` to `person120000`: every tenth disabled, every hundredth unverified with a second factor. */
async function insertCrowd(db: Db<IdentityTables>): Promise<void> {
  await sql`
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(CROWD)})
    insert into users (username, email, password_hash, roles, admin, enabled, created_at, verified,
      second_factor, last_seen_on)
    select 'person' || (100000 + i), 'mail' || i || '@example.com', 'x', '["ROLE_USER"]',
      0, case i % 10 when 0 then 0 else 1 end,
      '2020-01-' || (10 + i % 18) || 'T00:00:00.000Z',
      case i % 100 when 0 then 0 else 1 end, case i % 100 when 0 then 1 else 0 end,
      case i % 3 when 0 then '' else '2021-03-' || (10 + i % 20) end
    from n`.execute(db)
}

async function insertUser(db: Db<IdentityTables>, username: string, email: string) {
  const { id } = await db
    .insertInto('users')
    .values({
      ...{ username, email, password_hash: 'x', roles: '[]', admin: 0, enabled: 1 },
      created_at: '2020-01-01T00:00:00.000Z',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

for (const engine of engines) {
  describe(`a search for users on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const search = async (query: string) => {
      const { api } = identity()
      return api.get(`/api/users?${query}`, { token: await adminToken(api) })
    }
    const names = async (query: string) =>
      (await search(query)).body.content.map(({ username }: { username: string }) => username)

    test('finds names that end in a sigma, and longer ones, by the same capitals', async () => {
      const { api } = identity()
      for (const [username, email] of [
        ['ΝΙΚΟΣ', 'nikos@example.org'],
        ['Νικοσία', 'nicosia@example.org'],
        ['νικος.a', 'dotted@example.org'],
        ['νικόλ', 'nicole@example.org'],
      ])
        await api.post('/api/auth/register', { username, email, password: 'a long enough one' })
      const find = (typed: string) => names(`q=${encodeURIComponent(typed)}`)

      assert.deepEqual(await find('ΝΙΚΟΣ'), ['νικος', 'νικος.a', 'νικοσία'])
      assert.deepEqual(await find('ΝΙΚΟ'), ['νικος', 'νικος.a', 'νικοσία'])
      const { body: first } = await search(`q=${encodeURIComponent('ΝΙΚΟΣ')}&size=2`)
      assert.deepEqual([first.totalElements, first.content.length], [3, 2])
      assert.deepEqual(await names(`q=${encodeURIComponent('ΝΙΚΟΣ')}&size=2&after=${first.next}`), [
        'νικοσία',
      ])
    })

    test('finds users by a prefix of the username or e-mail address, in any case', async () => {
      const { api } = identity()
      for (const [username, email] of [
        ['Zoe', 'first@example.org'],
        ['zoltan', 'second@example.org'],
        ['other', 'zoe.other@example.org'],
        ['100%sure', 'percent@example.org'],
        ['müller', 'umlaut@example.org'],
      ])
        await api.post('/api/auth/register', { username, email, password: 'a long enough one' })

      assert.deepEqual(await names('q=ZO'), ['zoe', 'zoltan', 'other'])
      assert.deepEqual(await names('q=zoe'), ['zoe', 'other'])
      assert.deepEqual(await names('q=oe'), [])
      assert.deepEqual(await names(`q=${encodeURIComponent('100%')}`), ['100%sure'])
      assert.deepEqual(await names(`q=${encodeURIComponent('1_0')}`), [])
      assert.deepEqual(await names(`q=${encodeURIComponent('MÜ')}`), ['müller'])
      assert.deepEqual(await names('q=zo%00'), [])
      assert.deepEqual(Object.keys((await search('q=zoe')).body.content[0]), [
        'id',
        'username',
        'email',
        'roles',
        'enabled',
        'createdAt',
      ])
    })

    test('finds users by any part of the username or e-mail address, in any case', async () => {
      const { api } = identity()
      for (const [username, email] of [
        ['user0777', 'seven@parts.example'],
        ['Ünal"s', 'quoted@parts.example'],
        ['ΟΔΟΣ', 'road@parts.example'],
        ['xΟΔΟΣx', 'roads@parts.example'],
        ['z😀bcd', 'face@parts.example'],
      ])
        await api.post('/api/auth/register', { username, email, password: 'a long enough one' })
      const find = (typed: string) => names(`contains=${encodeURIComponent(typed)}`)

      assert.deepEqual(await find('0777'), ['user0777'])
      assert.deepEqual(await find('SEVEN@PARTS'), ['user0777'])
      assert.deepEqual(await find('@parts.example'), [
        'user0777',
        'ünal"s',
        'οδος',
        'xοδοσx',
        'z😀bcd',
      ])
      assert.deepEqual(await find('nal"s'), ['ünal"s'])
      assert.deepEqual(await find('ÜNA'), ['ünal"s'])
      assert.deepEqual(await find('ΟΔΟΣ'), ['οδος', 'xοδοσx'])
      assert.deepEqual(await find('😀bc'), ['z😀bcd'])
      for (const typed of ['077 OR user', '0_7', '%77', '077*', 'username:077', '777s', '0777 s'])
        assert.deepEqual(await find(typed), [], typed)
      for (const typed of [
        '077\0',
        '\ufffdaa',
        '"'.repeat(3),
        "'a'",
        '^077',
        '{077}',
        '\\\\\\',
        '\n\n\n',
      ])
        assert.equal((await search(`contains=${encodeURIComponent(typed)}`)).status, 200)
      assert.deepEqual(await find('us'), ['user', 'user0777'], 'two characters are a beginning')
      assert.deepEqual(await find('77'), [])
      assert.deepEqual(await names('contains=parts.ex&enabled=false'), [])
      assert.deepEqual(await names('contains=0777&role=ROLE_USER&enabled=true'), ['user0777'])
      assert.equal((await search('contains=abc&q=abc')).body.code, 'VALIDATION_ERROR')
      assert.equal((await search('contains=abc&contains=abc')).body.code, 'VALIDATION_ERROR')
    })

    test('finds users who were there before the index of parts', async (t) => {
      const url = await engine.freshUrl(t, [])
      const earlier = identityMigrations.filter(({ name }) => !name.includes('parts-of-names'))
      const before = await openDatabase<IdentityTables>(url, earlier)
      await insertUser(before.db, 'formerly', 'early@example.org')
      await before.close()

      const { db, close } = await openDatabase<IdentityTables>(url, identityMigrations)
      t.after(close)

      const { users, total } = await listContaining(db, {
        ...{ texts: ['merly', 'missing'], filter: {} },
        ...{ after: 0, most: 2, mostCounted: 10 },
      })
      assert.deepEqual([users.map(({ username }) => username), total], [['formerly'], 1])
    })

    test('finds a part of a new address at once, and nothing of an old or erased one', async (t) => {
      const { config } = identity()
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      const id = await insertUser(db, 'changeling', 'qqbefore@example.org')
      assert.deepEqual(await names('contains=qqbefore'), ['changeling'])
      const users = db.updateTable('users').where('id', '=', id)

      await users.set({ email: 'qqafter@example.org' }).execute()
      assert.deepEqual(await names('contains=qqbefore'), [])
      assert.deepEqual(await names('contains=qqafter'), ['changeling'])
      await db.deleteFrom('users').where('id', '=', id).execute()

      assert.deepEqual(await names('contains=qqafter'), [])
      assert.deepEqual(await names('contains=angelin'), [])
      if (engine.name === 'postgres') return
      const { rows } = await sql<{ block: Buffer }>`select block from user_names_data`.execute(db)
      assert.ok(!rows.some(({ block }) => /qq/.test(block.toString('latin1'))), 'left in the index')
    })

    test('filters by role, state, verification and date, and combines them', async () => {
      assert.deepEqual(await names('role=ROLE_ADMIN'), ['admin'])
      assert.deepEqual(await names('role=ROLE_USER&q=a'), ['admin', 'alice'])
      assert.deepEqual(await names('enabled=false'), [])
      assert.deepEqual(await names('verified=true'), [])
      const { body } = await search('q=alice&verified=false&enabled=true')
      assert.deepEqual([body.totalElements, body.next, body.last], [1, null, true])
      const { createdAt } = body.content[0]
      assert.ok((await names(`createdFrom=${createdAt}`)).includes('alice'))
      assert.deepEqual(await names(`createdTo=${createdAt}`), [])
      assert.deepEqual(await names('createdFrom=2999-01-01'), [])
    })

    test('filters by second factor and by the day of the last sign-in or refresh', async (t) => {
      const { api, clock, userId } = await startWithAlice(t, {
        env: { IDENTITY_DATABASE_URL: await engine.freshUrl(t) },
      })
      const found = async (query: string) => {
        const { body } = await api.get(`/api/users?${query}`, { token: await adminToken(api) })
        return body.content.map(({ username }: { username: string }) => username)
      }
      const today = () => clock().toISOString().slice(0, 10)
      const newcomer = {
        username: 'newcomer',
        email: 'n@example.org',
        password: 'a long enough one',
      }
      await api.post('/api/auth/register', newcomer)
      const { refreshToken } = (await api.post('/api/auth/login', ALICE)).body
      const before = today()

      assert.deepEqual(await found(`lastSeenTo=${before}`), ['user', 'newcomer'])
      clock.advance(86_400)
      assert.deepEqual(await found(`lastSeenFrom=${today()}`), ['admin'])
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 200)
      assert.deepEqual(await found(`lastSeenFrom=${today()}`), ['admin', 'alice'])
      const { body } = await api.get(`/api/users/${userId}`, { token: await adminToken(api) })
      assert.deepEqual([body.lastSeenOn, body.secondFactor], [today(), false])

      await enrol(api, (await api.post('/api/auth/login', ALICE)).body.accessToken, clock)
      assert.deepEqual(await found('mfa=true'), ['alice'])
      assert.deepEqual(await found(`mfa=false&lastSeenFrom=${today()}`), ['admin'])
    })

    test('refuses invalid parameters', async () => {
      for (const query of [
        'enabled=yes',
        'role=ROLE_ROOT',
        'createdFrom=yesterday',
        'createdFrom=2030-13-45',
        'lastSeenTo=2030-13-45',
        'lastSeenFrom=2030-02-30',
        'createdTo=2030-04-31T12:00:00Z',
        'lastSeenTo=2030-01-01T00:00:00Z',
        'mfa=1',
        'q=a&page=1',
        'q=a&sort=id',
        'q=a&after=nonsense',
        'q=a&q=b',
      ])
        assert.equal((await search(query)).body.code, 'VALIDATION_ERROR', query)
      for (const field of ['createdFrom', 'createdTo', 'lastSeenFrom', 'lastSeenTo'])
        assert.deepEqual((await search(`${field}=2026-02-29`)).body.errors, [
          `${field}: is not a date or time that exists`,
        ])
      const { next } = (await search('q=a&size=1')).body
      assert.equal((await search(`role=ROLE_USER&after=${next}`)).status, 400)
    })

    test('GET /api/users/{id} shows one user with what is pending', async () => {
      const { api, userId } = identity()
      const token = await adminToken(api)

      const { status, body } = await api.get(`/api/users/${userId}`, { token })

      assert.equal(status, 200)
      assert.deepEqual(
        [body.username, body.emailVerified, body.passwordChangeRequired, body.deletesAt],
        ['alice', false, false, null],
      )
      assert.equal((await api.get('/api/users/999999', { token })).body.code, 'USER_NOT_FOUND')
    })

    test('pages through many users along an index, and returns each once', async () => {
      const { api, config } = identity()
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      try {
        await insertCrowd(db)
        await sql`analyze`.execute(db)

        const token = await adminToken(api)
        const walk = async (query: string) => {
          const seen: string[] = []
          let after = ''
          do {
            const path = `/api/users?${query}&size=2000&after=${encodeURIComponent(after)}`
            const { body } = await api.get(path, { token })
            seen.push(...body.content.map(({ username }: { username: string }) => username))
            after = body.next
          } while (after)
          return seen
        }
        const disabled = await walk('enabled=false')
        assert.deepEqual([disabled.length, new Set(disabled).size], [CROWD / 10, CROWD / 10])
        assert.equal((await walk('q=person11&verified=false')).length, 100)
        assert.equal((await walk('mfa=true')).length, CROWD / 100)
        const seen = await walk('lastSeenFrom=2021-03-10&lastSeenTo=2021-03-12')
        assert.deepEqual([seen.length, new Set(seen).size], [1334, 1334])
        assert.equal((await walk('createdFrom=2020-01-12&createdTo=2020-01-13')).length, 1112)
        assert.equal((await search('q=person')).body.totalElements, 10_000)
        const { body: parts } = await search('contains=erson1')
        assert.deepEqual([parts.totalElements, parts.last], [1000, false])
        const inParts = await walk('contains=1234')
        assert.deepEqual([inParts.length, new Set(inParts).size], [12, 12])
        assert.equal((await search('contains=1234')).body.totalElements, 12)
        assert.equal((await walk('contains=erson11&enabled=false')).length, 1000)
        assert.equal((await walk('contains=erson1')).length, CROWD)
        assert.deepEqual(await names('contains=l19999@exam'), ['person119999'])
        assert.deepEqual(await names('q=MAIL1999'), [
          ...Array.from({ length: 10 }, (_, digit) => `person11999${digit}`),
          'person101999',
        ])

        for (const filter of [
          { prefixes: ['person1123'] },
          { prefixes: ['νικος', 'νικοσ'] },
          { role: 'ROLE_ADMIN' },
          { enabled: false },
          { verified: false },
          { mfa: true },
          { mfa: false },
          { lastSeenTo: '2021-03-11' },
          { lastSeenFrom: '2021-03-28' },
          { createdFrom: '2020-01-13T00:00:00.000Z', createdTo: '2020-01-13T12:00:00.000Z' },
        ])
          for (const walkAlong of walksOf(filter)) {
            const query = matchingUsers(db, filter, { walk: walkAlong, most: 20 })
            assert.doesNotMatch(await planOf(db, query), /SCAN users$|Seq Scan/m)
          }
        for (const [filter, walkAlong, index] of [
          [{ mfa: true }, 'id', /users_second_factor/],
          [{ lastSeenTo: '2021-03-11' }, 'seen', /users_last_seen/],
        ] as const)
          assert.match(
            await planOf(db, matchingUsers(db, filter, { walk: walkAlong, most: 20 })),
            index,
          )
        const page = { page: 0, size: 20, offset: 0, sort: [] }
        for (const filter of [
          { users: ['alice'] },
          { event: 'LOGIN' },
          { users: ['a', 'A'], event: 'LOGIN' },
        ])
          assert.doesNotMatch(
            await planOf(db, filteredIds(db, page, filter), 'set enable_seqscan = off'),
            /SCAN audit_events$|Seq Scan/m,
          )
      } finally {
        await close()
      }
    })
  })
}

/** The query plan. `before` can turn off sequential scans, which PostgreSQL prefers for small tables. */
async function planOf(
  db: Db<IdentityTables>,
  query: { compile(): CompiledQuery },
  before?: string,
): Promise<string> {
  const { sql: text, parameters } = query.compile()
  const sqlite = text.includes('?')
  return db.connection().execute(async (connection) => {
    if (before && !sqlite) await connection.executeQuery(CompiledQuery.raw(before))
    const explain = sqlite ? 'explain query plan' : 'explain'
    const { rows } = await connection.executeQuery<Record<string, string>>(
      CompiledQuery.raw(`${explain} ${text}`, [...parameters]),
    )
    return rows.map((row) => row.detail ?? row['QUERY PLAN']).join('\n')
  })
}
