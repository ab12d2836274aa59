import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseEnv } from 'node:util'
import { sqlite } from '@plinth/kit/testing'
import { startStack } from '../../launcher/stack/stack.ts'
import { type S3Server, s3Missing, startS3 } from '../../test/servers/s3.ts'
import { type Env, fill, PASSWORD, PDF, startSuiteOn, suiteEnv } from './filled-suite.ts'
import { killedAt, plinth, plinthHere } from './run-plinth.ts'

const skip = await s3Missing()
const s3 = skip ? ({} as S3Server) : await startS3({ after })

test('objects in a bucket are backed up encrypted, verified without the bucket and restored, despite kill -9', {
  skip,
}, async (t) => {
  const { env, folder, backups } = await suiteEnv(t, sqlite)
  env.BACKUP_PASSPHRASE = 'a passphrase for the archive'
  const suite = await startSuiteOn(t, env)
  await fill(suite)
  await suite.storage.logIn('admin', 'password123123')
  await suite.storage.settings.configureObject(s3.settings)
  await suite.storage.settings.activate('OBJECT')
  const { id } = await suite.storage.files.upload(PDF, 'in-a-bucket.pdf')

  const examined = await plinthHere(['doctor', '--json'], { env })
  const findings: { check: string; status: string }[] = JSON.parse(examined.stdout)
  assert.equal(findings.find(({ check }) => check === 'bucket')?.status, 'ok')
  await killedAt('backup:file', ['backup', 'create'], env)
  assert.deepEqual(await (await suite.storage.files.download(id)).bytes(), await PDF.bytes())
  const created = await plinth(['backup', 'create', '--verify', '--json'], { env })
  assert.equal(created.code, 0, created.stderr)
  const { file: archive } = JSON.parse(created.stdout)
  assert.equal(readdirSync(backups).filter((name) => /zst(\.part)?$/.test(name)).length, 1)
  await killedAt('verify:restored', ['backup', 'verify', archive], env)
  const decryptedIn = (place = '') => readdirSync(place).filter((name) => /^\.verify-/.test(name))
  assert.deepEqual([decryptedIn(backups).length, decryptedIn(env.SUITE_DATA).length], [0, 1])
  await suite.storage.files.delete(id)
  await suite.close()
  const target = {
    ...env,
    ...(await exportedKeys(env, folder)),
    SUITE_DATA: join(folder, 'target'),
  }
  const words = ['restore', archive]
  const unread = await plinthHere(words, { env: { ...target, BACKUP_PASSPHRASE: '' } })
  assert.deepEqual([unread.code, /^The archive is encrypted: /.test(unread.stderr)], [1, true])
  await killedAt('restore:file', words, target)
  await assert.rejects(startStack({ env: target }), /has not ended: it is not whole/)
  const restored = await plinthHere(words, { env: target })

  assert.equal(restored.code, 0, restored.stderr)
  const after = await startSuiteOn(t, target)
  await after.storage.logIn('admin', 'password123123')
  assert.deepEqual(await (await after.storage.files.download(id)).bytes(), await PDF.bytes())
  await after.storage.logIn('grace', PASSWORD)
})

/** All that another machine needs besides the archive and its passphrase. */
async function exportedKeys(env: Env, folder: string): Promise<Env> {
  const file = join(folder, 'keys.env')
  const first = await plinthHere(['keys', 'export', file], { env })
  const second = await plinthHere(['keys', 'export', file], { env })
  assert.deepEqual([first.code, second.code], [0, 73], first.stderr)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  return parseEnv(readFileSync(file, 'utf8')) as Env
}
