import assert from 'node:assert/strict'
import { test } from 'node:test'
import { s3Missing, startS3 } from './s3.ts'

const skip = await s3Missing()

test('refuses a request without credentials, as S3 does', { skip }, async (t) => {
  const { settings } = await startS3(t)

  const reply = await fetch(`${settings.endpoint}/${settings.bucket}`)

  assert.equal(reply.status, 403)
})

test('starts again on the same port after it was killed', { skip }, async (t) => {
  const server = await startS3(t)
  await server.kill()
  await assert.rejects(fetch(server.settings.endpoint))

  await server.restart()

  assert.equal((await fetch(server.settings.endpoint)).status, 403)
})

test('can run on a disk that fills up', { skip }, async (t) => {
  await startS3(t, { smallDisk: true })
})
