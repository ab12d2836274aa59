import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type S3Server, s3Missing, startS3 } from '../../test/servers/s3.ts'
import { elsewhere, fill, PASSWORD, PDF, sqlite, startSuiteOn, suiteEnv } from './filled-suite.ts'
import { plinth, plinthHere } from './run-plinth.ts'

const skip = await s3Missing()
const s3 = skip ? ({} as S3Server) : await startS3({ after })

test('objects in a bucket are copied, proved without the bucket, and put back', {
  skip,
}, async (t) => {
  const { env, folder } = await suiteEnv(t, sqlite)
  const suite = await startSuiteOn(t, env)
  await fill(suite)
  await suite.storage.logIn('admin', 'password123123')
  await suite.storage.configureObject(s3.settings)
  await suite.storage.activate('OBJECT')
  const { id } = await suite.storage.upload(PDF, 'in-a-bucket.pdf')

  const examined = await plinthHere(['doctor', '--json'], { env })
  const findings: { check: string; status: string }[] = JSON.parse(examined.stdout)
  assert.equal(findings.find(({ check }) => check === 'bucket')?.status, 'ok')
  const created = await plinth(['backup', 'create', '--verify', '--json'], { env })
  assert.equal(created.code, 0, created.stderr)
  await suite.storage.remove(id)
  await suite.close()
  const target = await elsewhere(env, join(folder, 'target'))
  const restored = await plinthHere(['restore', JSON.parse(created.stdout).file], { env: target })

  assert.equal(restored.code, 0, restored.stderr)
  const after = await startSuiteOn(t, target)
  await after.storage.logIn('admin', 'password123123')
  assert.deepEqual(await (await after.storage.download(id)).bytes(), await PDF.bytes())
  await after.storage.logIn('grace', PASSWORD)
})
