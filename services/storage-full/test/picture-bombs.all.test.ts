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
const FORMATS = ['jpeg', 'png', 'webp', 'avif', 'auto']
const { picturesAtOnce } = shareOfCores(availableParallelism())
/** With one more in the slow lane. */
const MAX_MEGABYTES = 150 + 300 * (picturesAtOnce + 1)

/** Drawing does not depend on the database, so one engine is enough here. */
describe('GET /file/picture/{id} of hostile files', () => {
  const scope = suiteCleanup()
  let service: SpawnedService
  let token: string
  let megabytesBefore: number
  before(async () => {
    const env = storageEnv(await temporaryFolder(scope))
    service = await spawnService(scope, MAIN, { ...env, LOG_LEVEL: 'info' })
    token = await logIn(service.api, 'user')
    await statusesOf({ name: 'x.png', type: 'image/png', bytes: sampleFiles.png })
    megabytesBefore = memoryOf(service, 'VmRSS')
  })
  const statusesOf = async (bomb: Bomb) => {
    const { status, body } = await upload(service.api, token, bomb)
    assert.equal(status, 201, JSON.stringify(body))
    const statuses = new Set<number>()
    for (const format of FORMATS) {
      const path = `/file/picture/${body.id}?width=256&format=${format}`
      const headers = { accept: 'image/webp' }
      statuses.add((await service.api.request('GET', path, { token, headers })).status)
    }
    return [...statuses]
  }

  for (const [what, bomb] of Object.entries(impossible))
    test(`${what}: 422 in every format`, async () => {
      assert.deepEqual(await statusesOf(bomb), [422])
    })

  for (const [what, bomb] of Object.entries(possible))
    test(`${what}: the picture or 422`, async () => {
      assert.ok((await statusesOf(bomb)).every((status) => [200, 422].includes(status)))
    })

  test('all at once: requests are answered and memory stays bounded', async () => {
    const bombs = Object.values({ ...impossible, ...possible })
    const drawn = bombs.map(statusesOf)

    const listed = await service.api.get('/file/list', { token })
    await Promise.all(drawn)

    assert.equal(listed.status, 200)
    const grown = memoryOf(service, 'VmHWM') - megabytesBefore
    assert.ok(grown < MAX_MEGABYTES, `${grown} MB more than before`)
  })
})
