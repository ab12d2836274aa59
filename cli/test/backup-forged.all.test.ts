import assert from 'node:assert/strict'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { sqlite } from '@plinth/kit/testing'
import type { Manifest } from '../../packages/backup/src/archive/manifest.ts'
import { readArchive } from '../../packages/backup/src/archive/read.ts'
import { openArchiveWriter } from '../../packages/backup/src/archive/write.ts'
import { type Env, elsewhere, fill, startSuiteOn, suiteEnv } from './filled-suite.ts'
import { plinthHere, plinthSucceeds } from './run-plinth.ts'

const PASSPHRASE = 'a passphrase for the archive'

async function sealedBackup(t: TestContext) {
  const { env, folder } = await suiteEnv(t, sqlite)
  env.BACKUP_PASSPHRASE = PASSPHRASE
  const suite = await startSuiteOn(t, env)
  await fill(suite)
  await suite.close()
  const { stdout } = await plinthSucceeds(['backup', 'create', '--json'], { env })
  return { env, folder, archive: JSON.parse(stdout).file as string }
}

type Forgery = { change?(manifest: Manifest): Manifest; passphrase?: string }

/** Copies an archive, with an administrator's role for every user. */
async function forged(
  archive: string,
  file: string,
  { change = (manifest) => manifest, passphrase }: Forgery,
): Promise<string> {
  const members: { name: string; bytes: Buffer }[] = []
  const manifest = await readArchive(
    createReadStream(archive),
    async () => {},
    async ({ name, bytes }) => {
      const content = await buffer(bytes)
      const isOfUsers = name.startsWith('db/identity/users/')
      const text = String(content).replaceAll('ROLE_USER', 'ROLE_ADMIN')
      members.push({ name, bytes: isOfUsers ? Buffer.from(text) : content })
    },
    PASSPHRASE,
  )
  const writer = await openArchiveWriter(createWriteStream(file), change(manifest), passphrase)
  for (const { name, bytes } of members)
    await writer.file(name, bytes.length, Readable.from([bytes]))
  await writer.finish()
  return file
}

/** What an attacker does who does not know the keys. */
function withoutFingerprints(manifest: Manifest): Manifest {
  const services = Object.entries(manifest.services).map(([name, service]) => [
    name,
    { ...service, keyFingerprints: {} },
  ])
  return { ...manifest, services: Object.fromEntries(services) }
}

test('a plain archive put in the place of a sealed one makes no stranger an administrator', async (t) => {
  const { env, folder, archive } = await sealedBackup(t)
  const target = await elsewhere(env, join(folder, 'target'))
  const refused = async (words: string[], given: Env) => {
    const { code, stderr } = await plinthHere(words, { env: given })
    assert.equal(code, 1, stderr)
    return stderr
  }
  const plain = await forged(archive, join(folder, 'plain.tar.zst'), {
    change: withoutFingerprints,
  })
  const NOT_SEALED =
    /^The archive is not encrypted, and BACKUP_PASSPHRASE is set: .* run the command once without the passphrase/

  await t.test('with a passphrase set, by verify and by restore', async () => {
    assert.match(await refused(['backup', 'verify', plain], env), NOT_SEALED)
    assert.match(await refused(['restore', plain], target), NOT_SEALED)
    assert.match(await refused(['restore', plain, '--replace'], env), NOT_SEALED)
  })

  await t.test('without the fingerprint of every key, sealed or not', async () => {
    const sealed = await forged(archive, join(folder, 'sealed.tar.zst'), {
      change: withoutFingerprints,
      passphrase: PASSPHRASE,
    })
    const unsealing = { ...target, BACKUP_PASSPHRASE: '' }
    const keyless = { ...unsealing, SUITE_DATA: join(folder, 'keyless') }
    const NO_FINGERPRINT = /^The archive has no fingerprint of the IDENTITY_MASTER_KEY/

    assert.match(await refused(['restore', sealed], target), NO_FINGERPRINT)
    assert.match(await refused(['restore', plain], unsealing), NO_FINGERPRINT)
    assert.match(await refused(['restore', plain], keyless), NO_FINGERPRINT)
    assert.equal(existsSync(keyless.SUITE_DATA), false)
    assert.ok(!readdirSync(target.SUITE_DATA as string).includes('identity.db'))
  })

  await t.test('and one from before the passphrase is restored without it', async () => {
    const earlier = await forged(archive, join(folder, 'earlier.tar.zst'), {})

    await plinthSucceeds(['restore', earlier], { env: { ...target, BACKUP_PASSPHRASE: '' } })
  })
})

test('other users of the machine can read neither the record of backups nor their lock', async (t) => {
  const umask = process.umask(0)
  t.after(() => process.umask(umask))
  const { env } = await suiteEnv(t, sqlite)
  const suite = await startSuiteOn(t, env)
  await suite.close()

  await plinthSucceeds(['backup', 'create', '--verify'], { env })

  const data = env.SUITE_DATA as string
  assert.match(readFileSync(join(data, 'last-backup.json'), 'utf8'), /"verified":true/)
  const made = ['last-backup.json', 'backups/.plinth-backup.lock']
  const modes = made.map((name) => (statSync(join(data, name)).mode & 0o777).toString(8))
  assert.deepEqual(modes, ['600', '600'])
})
