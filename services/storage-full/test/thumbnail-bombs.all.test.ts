import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { type SpawnedService, sampleFiles, spawnService } from '@plinth/kit/testing'
import { suiteCleanup } from '../../../test/suite-cleanup.ts'
import { shareOfCores } from '../src/thumbnails/lanes.ts'
import { type Bomb, impossible, possible } from './bombs.ts'
import { memoryOf } from './memory.ts'
import { logIn, storageEnv, temporaryFolder, upload } from './start-storage.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const { pagesAtOnce, picturesAtOnce } = shareOfCores(availableParallelism())
/** With one more of each in the slow lanes. */
const MAX_MEGABYTES = 150 + 200 * (pagesAtOnce + picturesAtOnce + 2)

const harmless = {
  png: { name: 'x.png', type: 'image/png', bytes: sampleFiles.png },
  pdf: { name: 'x.pdf', type: 'application/pdf', bytes: sampleFiles.pdf },
}

/** Decoding does not depend on the database, so one engine is enough here. */
describe('GET /file/thumbnail/{id} of hostile files', () => {
  const scope = suiteCleanup()
  let service: SpawnedService
  let token: string
  let megabytesBefore: number
  before(async () => {
    service = await spawnService(scope, MAIN, {
      ...storageEnv(await temporaryFolder(scope)),
      LOG_LEVEL: 'info',
    })
    token = await logIn(service.api, 'user')
    for (const extension of ['png', 'pdf'] as const) await thumbnailOf(harmless[extension])
    megabytesBefore = memoryOf(service, 'VmRSS')
  })
  const thumbnailOf = async (bomb: Bomb) => {
    const { status, body } = await upload(service.api, token, bomb)
    assert.equal(status, 201, JSON.stringify(body))
    const reply = await service.api.get(`/file/thumbnail/${body.id}`, { token })
    assert.equal(reply.status, 200)
    return reply.headers.get('content-type')
  }

  for (const [what, bomb] of Object.entries(impossible))
    test(`${what}: the SVG`, async () => {
      assert.equal(await thumbnailOf(bomb), 'image/svg+xml')
    })

  for (const [what, bomb] of Object.entries(possible))
    test(`${what}: a JPEG or the SVG`, async () => {
      assert.match((await thumbnailOf(bomb)) ?? '', /^image\/(jpeg|svg\+xml)$/)
    })

  test('all at once: requests are answered and memory stays bounded', async () => {
    const bombs = Object.values({ ...impossible, ...possible })
    const thumbnails = bombs.map(thumbnailOf)

    const listed = await service.api.get('/file/list', { token })
    await Promise.all(thumbnails)

    assert.equal(listed.status, 200)
    assert.equal((await service.api.get('/actuator/health')).status, 200)
    const grown = memoryOf(service, 'VmHWM') - megabytesBefore
    assert.ok(grown < MAX_MEGABYTES, `${grown} MB more than before`)
  })
})
