import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { spawnService } from '@plinth/kit/testing'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { logIn, storageEnv, temporaryFolder, upload } from './start-storage.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')

const PREFLIGHT = { origin: 'https://app.example', 'access-control-request-method': 'GET' }

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Server) : await startS3({ after })

test('no key, secret, token or password reaches the log or a trace, whatever fails', {
  skip: noS3,
}, async (t) => {
  const traces: string[] = []
  const collector = createServer(async (request, response) => {
    traces.push(await text(request))
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  t.after(() => void collector.close())
  const env = {
    ...storageEnv(await temporaryFolder(t)),
    LOG_LEVEL: 'trace',
    STORAGE_FULL_CORS_ORIGINS: PREFLIGHT.origin,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
  }
  const service = await spawnService(t, MAIN, env)
  const written: string[] = []
  for (const stream of [service.process.stdout, service.process.stderr])
    stream?.on('data', (chunk) => written.push(String(chunk)))
  const { api } = service
  const admin = await logIn(api, 'admin')
  const token = { token: admin }
  const save = (change: object) =>
    api.put('/api/storage/config/object', { ...s3.settings, ...change }, token)

  await save({ secretKey: 'a-wrong-secret' })
  await api.put('/api/storage/provider', { provider: 'OBJECT' }, token)
  await save({})
  await api.put('/api/storage/provider', { provider: 'OBJECT' }, token)
  const { body: file } = await upload(api, admin)
  const ask = { id: file.id, expiresInSeconds: 60 }
  const { body: link } = await api.post('/file/generate-pre-signed-url', ask, token)
  const strayed = [
    (await api.delete(`/file/presigned/${link.token}`)).status,
    (await api.get(`/file/presigned/${link.token}/x`)).status,
    (await api.request('OPTIONS', `/file/presigned/${link.token}`, { headers: PREFLIGHT })).status,
  ]
  await s3.kill()
  const statuses = [
    (await upload(api, admin)).status,
    (await api.get(`/file/presigned/${link.token}`)).status,
    (await api.post('/api/storage/test/object', undefined, token)).status,
  ]
  await service.kill('SIGTERM')

  assert.deepEqual(strayed, [405, 404, 204])
  assert.deepEqual(statuses, [503, 503, 503])
  const log = written.join('') + traces.join('')
  assert.match(log, /The object store answered/)
  assert.match(log, /"stringValue":"\/file\/presigned\/\{token\}"/)
  const { accessKey, secretKey } = s3.settings
  for (const secret of [accessKey, secretKey, 'a-wrong-secret', admin, link.token, 'password123'])
    assert.ok(!log.includes(secret), secret)
})
