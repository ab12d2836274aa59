import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { identityClient } from '@plinth/client'
import { postgres, sqlite } from '@plinth/kit/testing'
import Sqlite from 'better-sqlite3'
import { services } from '../../launcher/services.ts'
import { startStack } from '../../launcher/stack/stack.ts'
import { extractDataOfOneZero } from '../../launcher/test/data-1.0.ts'
import { openConnection } from '../../packages/backup/src/databases/open.ts'
import { tableNames } from '../../packages/backup/src/databases/schema.repository.ts'
import { type Env, PASSWORD, suiteEnv } from './filled-suite.ts'
import { type Ended, killedAt, plinthHere } from './run-plinth.ts'

const only = services.filter(({ name }) => name === 'identity')

async function onIdentity<R>(
  t: TestContext,
  env: Env,
  work: (identity: ReturnType<typeof identityClient>) => Promise<R>,
): Promise<R> {
  const stack = await startStack({ env, only })
  t.after(() => stack.close())
  return work(identityClient(stack.services[0]?.url as string)).finally(() => stack.close())
}

const grace = (username: string) => ({ username, email: `${username}@x.org`, password: PASSWORD })

describe('a move between SQLite and PostgreSQL', { skip: postgres.skip }, () => {
  test('works in both directions: both sides are equal, and ids continue', async (t) => {
    const { env, folder } = await suiteEnv(t, sqlite)
    await onIdentity(t, env, (identity) => identity.register(grace('grace')))
    const url = await postgres.freshUrl(t)
    const [there, back] = [join(folder, 'there'), `sqlite:${join(folder, 'back.db')}`]
    writeFileSync(there, url)

    const words = ['move', 'identity', '--to-file', there, '--json']
    const checked = await plinthHere([...words, '--check'], { env })
    assert.equal(checked.code, 0, checked.stderr)
    const moved = await plinthHere(words, { env })
    assert.equal(moved.code, 0, moved.stderr)
    assert.deepEqual(JSON.parse(checked.stdout).tables, JSON.parse(moved.stdout).tables)
    assert.match(moved.stdout, /"setting": "IDENTITY_DATABASE_URL=postgres/)
    const onPostgres = { ...env, IDENTITY_DATABASE_URL: url }
    const { id } = await onIdentity(t, onPostgres, (identity) => identity.register(grace('ada')))
    const again = await plinthHere(['move', 'identity', '--to-file', there], { env })
    const returned = await plinthHere(['move', 'identity', '--to', back], { env: onPostgres })

    assert.deepEqual([again.code, /data already at the target/.test(again.stderr)], [1, true])
    assert.equal(returned.code, 0, returned.stderr)
    const onSqlite = { ...env, IDENTITY_DATABASE_URL: back }
    const next = await onIdentity(t, onSqlite, async (identity) => {
      await identity.logIn('ada', PASSWORD)
      return identity.register(grace('joan'))
    })
    assert.equal(next.id, Number(id) + 1)
  })

  test('takes data that 1.0 left and this version has not run on', async (t) => {
    const { env, folder } = await suiteEnv(t, sqlite)
    const { password } = await extractDataOfOneZero(folder)
    const url = await postgres.freshUrl(t)
    const there = join(folder, 'there')
    writeFileSync(there, url)

    const moved = await plinthHere(['move', 'identity', '--to-file', there], { env })

    assert.equal(moved.code, 0, moved.stderr)
    const onPostgres = { ...env, IDENTITY_DATABASE_URL: url }
    await onIdentity(t, onPostgres, (identity) => identity.logIn('grace', password))
  })

  test('after kill -9 at any step, in either direction, no service starts on the target', async (t) => {
    const { env, folder } = await suiteEnv(t, sqlite)
    await onIdentity(t, env, (identity) => identity.register(grace('grace')))
    const url = await postgres.freshUrl(t)
    const there = join(folder, 'there')
    writeFileSync(there, url)

    for (const point of ['marked', 'table', 'committed', 'compared']) {
      await killedAt(`move:${point}`, ['move', 'identity', '--to-file', there], env)
      const onTarget = { ...env, IDENTITY_DATABASE_URL: url }
      await assert.rejects(startStack({ env: onTarget, only }), /not whole/, point)
    }

    await onIdentity(t, env, (identity) => identity.logIn('grace', PASSWORD))
    const { code, stderr } = await plinthHere(['move', 'identity', '--to-file', there], { env })
    assert.equal(code, 0, stderr)

    const onPostgres = { ...env, IDENTITY_DATABASE_URL: url }
    const back = `sqlite:${join(folder, 'back.db')}`
    for (const point of ['marked', 'table', 'committed', 'compared']) {
      await killedAt(`move:${point}`, ['move', 'identity', '--to', back], onPostgres)
      const onTarget = { ...env, IDENTITY_DATABASE_URL: back }
      await assert.rejects(startStack({ env: onTarget, only }), /not whole/, point)
    }
    await onIdentity(t, onPostgres, (identity) => identity.logIn('grace', PASSWORD))
  })

  test('moves nothing on a full disk, for data of a later version or for text with a NUL', async (t) => {
    const { env, folder } = await suiteEnv(t, sqlite)
    await onIdentity(t, env, (identity) => identity.register(grace('grace')))
    const there = join(folder, 'there')
    const url = await postgres.freshUrl(t)
    writeFileSync(there, url)
    const target = await openConnection(url)
    t.after(target.close)
    await target.run('create view of_others as select 1 as one')
    const move = async (more: string[] = [], settings: Env = {}) => {
      const words = ['move', 'identity', '--to-file', there, ...more]
      const { code, stderr } = await plinthHere(words, { env: { ...env, ...settings } })
      assert.match(stderr, /^[^\n]+\n$/)
      return `${code} ${stderr.trim()}`
    }
    const edit = (statements: string) => {
      const identity = new Sqlite(join(env.SUITE_DATA as string, 'identity.db'))
      identity.exec(statements)
      identity.close()
    }

    assert.match(
      await move([], { FAIL_POINT: 'move:table=ENOSPC' }),
      /^73 The database at the target cannot be written: there is no room left\.$/,
    )
    edit(`insert into schema_migrations (name, version) values ('later-0001', '9.8.7')`)
    assert.match(await move(), /^1 The data of identity is of Plinth 9\.8\.7, and this is /)
    edit(`delete from schema_migrations where name = 'later-0001';
      update users set email = 'a' || char(0) || '@x.org' where username = 'grace'`)
    assert.match(await move(['--check']), /^1 .*a NUL in users\.email/)
    assert.match(await move(), /^1 .*a NUL in users\.email/)
    assert.deepEqual(await target.run('select one from of_others'), [{ one: 1 }])
    assert.deepEqual(await tableNames(target), [])
  })

  test('a running service, a password in the arguments and a missing file are refused', async (t) => {
    const { env, folder } = await suiteEnv(t, sqlite)
    const stack = await startStack({ env, only })
    t.after(() => stack.close())
    const to = `sqlite:${join(folder, 'other.db')}`

    const running = await plinthHere(['move', 'identity', '--to', to], { env })
    const addresses = ['a:secret@h/d', 'h/d?password=secret', 'a:sec/ret@h/d', 'a:sec@ret@h/d']
    const refused: Ended[] = []
    for (const address of [...addresses, 'a:sec#ret@h/d'])
      refused.push(await plinthHere(['move', 'identity', '--to', `postgres://${address}`], { env }))
    const absent = await plinthHere(['move', 'identity', '--to-file', join(folder, 'no')], { env })
    writeFileSync(join(folder, 'socket'), 'postgres://plinth:secret@/identity?host=/run&port=5433')
    const socket = await plinthHere(['move', 'identity', '--to-file', join(folder, 'socket')], {
      env,
    })

    assert.deepEqual([running.code, /running on this data/.test(running.stderr)], [69, true])
    for (const { code, stderr } of refused)
      assert.deepEqual([code, /sec|ret/.test(stderr)], [64, false])
    assert.equal(absent.code, 66)
    assert.deepEqual([socket.code, /secret/.test(socket.stderr)], [64, false])
    assert.match(socket.stderr, /postgres:\/\/user:password@%2Frun%2Fpostgresql:5432\/database/)
    assert.match(absent.stderr, /^\S+no cannot be read: there is no such file\.\n$/)
  })
})
