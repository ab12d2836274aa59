import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { asRoot } from '@plinth/kit/testing'
import { freePortSettings } from '../../test/servers/free-ports.ts'
import { plinth, plinthHere, plinthSucceeds, temporaryFolder } from './run-plinth.ts'
import { startService } from './start-payments.ts'

describe('as root, plinth', asRoot, () => {
  test('gives what it creates to the owner of the data folder, whose service could not start otherwise', async (t) => {
    const folder = temporaryFolder(t)
    const data = join(folder, 'data')
    mkdirSync(data)
    chownSync(data, 1234, 1235)

    for (const words of [
      ['user', 'list'],
      ['files', 'verify'],
      ['keys', 'list', '--service', 'payments'],
    ])
      await plinthSucceeds(words, { cwd: folder })

    const made = readdirSync(data, { recursive: true, encoding: 'utf8' })
    const owners = made.map((name) => [name, statSync(join(data, name)).uid])
    assert.ok(
      made.some((name) => name.startsWith('storage-full/.incoming/')),
      made.join(),
    )
    assert.ok(made.includes('storage-full.db-reserve'), made.join())
    assert.deepEqual(
      owners.filter(([, uid]) => uid !== 1234),
      [],
    )
  })

  test('listen gives what it keeps to the owner of the data folder, which only that owner can enter', async (t) => {
    const env = await startService(t)
    const fresh = join(temporaryFolder(t), 'data')
    chownSync(env.SUITE_DATA, 12345, 12346)
    const words = ['listen', '--forward-to', 'http://localhost:9', '--replay', 'evt_1']

    await plinthHere(words, { env: { ...env, XDG_STATE_HOME: '/dev/null' } })
    await plinthHere(['listen', '--print-secret'], { env: { ...env, SUITE_DATA: fresh } })

    for (const name of ['listen.json', 'listen-secret.json']) {
      const { uid, gid, mode } = statSync(join(env.SUITE_DATA, name))
      assert.deepEqual([uid, gid, mode & 0o777], [12345, 12346, 0o600])
    }
    assert.equal(statSync(fresh).mode & 0o777, 0o700)
  })

  test('doctor reports a file left by a command that ran as another user', async (t) => {
    const cwd = temporaryFolder(t)
    mkdirSync(join(cwd, 'data'), { mode: 0o700 })
    writeFileSync(join(cwd, 'data/notes'), '')
    chownSync(join(cwd, 'data/notes'), 12345, 12345)

    const { stdout } = await plinth(['doctor', '--json'], { cwd, env: await freePortSettings() })

    type Finding = { check: string; status: string; seen: string; fix?: string }
    const found = (JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'data-dir')
    assert.equal(found?.status, 'fail')
    assert.match(found.seen, /data\/notes and the folder have different owners$/)
    assert.match(found.fix ?? '', /^chown -R --reference=/)
  })

  test('doctor --fix leaves a secret readable for the group that root keeps it for', async (t) => {
    const cwd = temporaryFolder(t)
    writeFileSync(join(cwd, '.env'), 'STORAGE_KEY_API_KEY_FILE=key\n', { mode: 0o644 })
    writeFileSync(join(cwd, 'key'), 'an API key that is long enough\n')
    chownSync(join(cwd, 'key'), 0, 65534)
    chmodSync(join(cwd, 'key'), 0o644)

    await plinth(['doctor', '--json', '--fix'], { cwd, env: await freePortSettings() })

    assert.equal(statSync(join(cwd, 'key')).mode & 0o777, 0o640)
  })
})
