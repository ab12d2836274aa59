import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sqlite } from '@plinth/kit/testing'
import { type S3Server, s3Missing, startS3 } from '../../test/servers/s3.ts'
import {
  type Env,
  elsewhere,
  fill,
  onlyStorage,
  PASSWORD,
  PDF,
  startSuiteOn,
  suiteEnv,
} from './filled-suite.ts'
import { plinthHere, plinthSucceeds } from './run-plinth.ts'

const skip = await s3Missing()
const s3 = skip ? ({} as S3Server) : await startS3({ after })
/** Three parts of an upload. */
const LARGE_BYTES = 36 * 2 ** 20

function bucketSettings(): Env {
  return {
    BACKUP_PASSPHRASE: 'a passphrase for the archive',
    BACKUP_BUCKET: s3.settings.bucket,
    BACKUP_BUCKET_ENDPOINT: s3.settings.endpoint,
    BACKUP_BUCKET_ACCESS_KEY: s3.settings.accessKey,
    BACKUP_BUCKET_SECRET_KEY: s3.settings.secretKey,
    BACKUP_BUCKET_PREFIX: 'of/this/suite',
  }
}

test('backups are copied to a bucket, and everything is restored from there on a new machine', {
  skip,
}, async (t) => {
  const { env, folder, backups } = await suiteEnv(t, sqlite)
  Object.assign(env, bucketSettings())
  const suite = await startSuiteOn(t, env)
  const { file } = await fill(suite)
  await suite.close()
  const large = randomBytes(LARGE_BYTES)
  writeFileSync(join(env.SUITE_DATA as string, 'storage-key/large.bin'), large)
  const list = async (given = env) =>
    JSON.parse((await plinthSucceeds(['backup', 'list', '--json'], { env: given })).stdout)

  const made = await plinthSucceeds(['backup', 'create', '--verify', '--json'], { env })
  const { copy, file: archive, bytes } = JSON.parse(made.stdout)
  assert.match(copy, /^bucket:plinth-.*\.tar\.zst$/)
  assert.ok(bytes > LARGE_BYTES)

  await t.test('it is listed and verified where nothing else is left', async () => {
    rmSync(backups, { recursive: true })
    mkdirSync(backups)
    const [kept, ...others] = await list()
    assert.deepEqual([kept.file, kept.bytes, others], [copy, bytes, []])
    await plinthSucceeds(['backup', 'verify', copy], { env })
  })

  await t.test('it is restored with the keys and the passphrase', async () => {
    const target = await elsewhere(env, join(folder, 'target'))
    await plinthSucceeds(['restore', copy], { env: target })

    const kept = readFileSync(join(target.SUITE_DATA as string, 'storage-key/large.bin'))
    assert.ok(kept.equals(large))
    const after = await startSuiteOn(t, target, onlyStorage)
    await after.storage.logIn('grace', PASSWORD)
    assert.deepEqual(await (await after.storage.files.download(file.id)).bytes(), await PDF.bytes())
    await after.close()
  })

  await t.test('old ones are removed there as well', async () => {
    const again = await plinthSucceeds(['backup', 'create', '--json'], {
      env: { ...env, BACKUP_KEEP: '1' },
    })
    const { copy: newest } = JSON.parse(again.stdout)
    const named = (await list()).map((kept: { file: string }) => kept.file)
    assert.deepEqual(
      named.filter((name: string) => name.startsWith('bucket:')),
      [newest],
    )
    const pruned = await plinthSucceeds(['backup', 'prune', '--json'], { env })
    assert.deepEqual(JSON.parse(pruned.stdout), [])
  })

  await t.test('an absent archive, and a bucket that refuses, are named', async () => {
    const absent = await plinthHere(['restore', 'bucket:absent'], { env })
    assert.equal(absent.code, 66, absent.stderr)
    const before = readdirSync(backups).filter((name) => name.endsWith('.zst')).length
    const refused = await plinthHere(['backup', 'create'], {
      env: { ...env, BACKUP_BUCKET_SECRET_KEY: 'another secret', BACKUP_KEEP: '5' },
    })
    assert.equal(refused.code, 69, refused.stderr)
    assert.match(refused.stderr, /^The bucket files cannot be used: .*\n$/)
    assert.doesNotMatch(refused.stderr, /another secret/)
    assert.equal(readdirSync(backups).filter((name) => name.endsWith('.zst')).length, before + 1)
    const record = JSON.parse(
      readFileSync(join(env.SUITE_DATA as string, 'last-backup.json'), 'utf8'),
    )
    assert.match(record.failed.reason, /^The bucket files cannot be used/)
  })

  assert.ok(archive.startsWith(backups))
})

test('a bucket without a passphrase or a key is refused, with all faults together', async (t) => {
  const { env } = await suiteEnv(t, sqlite)

  const { code, stderr } = await plinthHere(['backup', 'list'], {
    env: { ...env, BACKUP_BUCKET: 'files' },
  })

  assert.equal(code, 78)
  for (const name of ['PASSPHRASE', 'BUCKET_ENDPOINT', 'BUCKET_ACCESS_KEY', 'BUCKET_SECRET_KEY'])
    assert.match(stderr, new RegExp(`BACKUP_${name} `))
})
