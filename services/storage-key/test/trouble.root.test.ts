import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  type Api,
  asRoot,
  dropPrivileges,
  mayDropPrivileges,
  sampleFiles,
  spawnService,
} from '@plinth/kit/testing'
import {
  apiAt,
  filesIn,
  KEY,
  PNG,
  startStorageKey,
  temporaryFolder,
  upload,
} from './start-storage-key.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')

/** Mounts a file system of two megabytes; `undefined` where mounting is not allowed. */
function mountSmallDisk(t: TestContext): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-small-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status === 0
  t.after(() => {
    if (mounted) execFileSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return mounted ? folder : undefined
}

/** Fills the disk to the last byte. */
function fillUp(disk: string): void {
  for (const size of [100_000, 4096, 1])
    try {
      for (;;) appendFileSync(join(disk, 'rest'), Buffer.alloc(size))
    } catch {
      // No room left for a piece of this size.
    }
}

describe('a full disk', asRoot, () => {
  test('is 507 for uploads, leaves nothing, and recovers when space is free', async (t) => {
    const disk = mountSmallDisk(t)
    if (!disk) return t.skip('no tmpfs can be mounted here; crash.test.ts injects ENOSPC')
    const { api, anonymous } = await startStorageKey(t, { STORAGE_KEY_ROOT: disk })
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(1_500_000))
    const content = Buffer.concat([PNG, Buffer.alloc(1_000_000)])

    const full = await Promise.all(Array.from({ length: 20 }, () => upload(api, { content })))

    assert.deepEqual([...new Set(full.map(({ status }) => status))], [507])
    assert.deepEqual([...new Set(full.map(({ body }) => body.error))], ['Insufficient Storage'])
    assert.ok(full.every(({ bytes }) => !bytes.includes(disk)))
    fillUp(disk)
    const degraded = await health(anonymous, 'DEGRADED')
    assert.match(degraded.reason, /no room/)
    rmSync(join(disk, 'rest'))
    assert.deepEqual(filesIn(disk), { stored: ['ballast'], incoming: [] })
    assert.equal((await api.delete('/file/ballast')).body, true)
    assert.equal((await upload(api, { content })).status, 200)
  })

  test('without a single free byte still lists, describes, sends and deletes files', async (t) => {
    const disk = mountSmallDisk(t)
    if (!disk) return t.skip('no tmpfs can be mounted here')
    const { api } = await startStorageKey(t, { STORAGE_KEY_ROOT: disk })
    const { body: name } = await upload(api)
    fillUp(disk)
    assert.equal((await upload(api)).status, 507)

    assert.deepEqual((await api.get('/file/list')).body, [name, 'rest'].sort())
    assert.equal((await api.get(`/file/info/${name}`)).status, 200)
    assert.ok((await api.get(`/file/${name}`)).bytes.equals(PNG))
    assert.equal((await api.delete(`/file/${name}`)).body, true)
    assert.equal((await upload(api)).status, 200)
  })
})

test(
  'a read-only disk is 503 for changes and says so; reading works and the service stays ready',
  asRoot,
  async (t) => {
    const disk = mountSmallDisk(t)
    if (!disk) return t.skip('no tmpfs can be mounted here; crash.test.ts injects EROFS')
    const { api, anonymous } = await startStorageKey(t, {
      STORAGE_KEY_ROOT: disk,
      STORAGE_KEY_ACTUATOR: 'full',
    })
    const { body: name } = await upload(api)
    execFileSync('mount', ['-o', 'remount,ro', disk])

    const changes = [await upload(api), await api.delete(`/file/${name}`)]
    const degraded = await health(anonymous, 'DEGRADED')
    const ready = await anonymous.get('/actuator/health/readiness')

    for (const { status, headers, body } of changes) {
      assert.deepEqual([status, headers.get('retry-after')], [503, '5'])
      assert.match(body.message, /read-only/)
    }
    assert.match(degraded.reason, /read-only/)
    assert.deepEqual([ready.status, ready.body], [200, { status: 'UP' }])
    assert.ok((await api.get(`/file/${name}`)).bytes.equals(PNG))
    assert.deepEqual((await api.get('/file/list')).body, [name])
  },
)

/** The body once it has this status: the result of a health check is cached for a second. */
async function health(api: Pick<Api, 'get'>, status: 'UP' | 'DEGRADED' | 'DOWN') {
  const deadline = performance.now() + 30_000
  for (;;) {
    const reply = await api.get('/actuator/health')
    if (reply.body.status === status) {
      assert.equal(reply.status, status === 'DOWN' ? 503 : 200)
      return reply.body
    }
    assert.ok(performance.now() < deadline, `health is still ${reply.body.status}`)
    await setTimeout(50)
  }
}

async function statusesOf(api: Pick<Api, 'get' | 'delete' | 'request'>, root: string) {
  const replies = [
    await upload(api, { content: sampleFiles.png }),
    await api.get('/file/list'),
    await api.get('/file/a.png'),
    await api.get('/file/info/a.png'),
    await api.delete('/file/a.png'),
  ]
  for (const { bytes } of replies) assert.ok(!bytes.includes(root))
  return replies.map(({ status }) => status)
}

describe('a storage folder that', () => {
  const broken = [500, 500, 500, 500, 500]

  test('disappears is 500 everywhere and DOWN, until it is back', async (t) => {
    const { api, anonymous, root } = await startStorageKey(t)
    writeFileSync(join(root, 'a.png'), 'x')
    await api.get('/file/list')

    renameSync(root, `${root}-away`)

    assert.deepEqual(await statusesOf(api, root), broken)
    assert.deepEqual(await health(anonymous, 'DOWN'), {
      status: 'DOWN',
      reason: 'The storage folder is missing or cannot be written.',
    })
    renameSync(`${root}-away`, root)
    await health(anonymous, 'UP')
    assert.deepEqual((await api.get('/file/list')).body, ['a.png'])
    assert.deepEqual(await statusesOf(api, root), [200, 200, 200, 200, 200])
  })

  test('becomes a file is 500 everywhere', async (t) => {
    const { api, root } = await startStorageKey(t)
    rmSync(root, { recursive: true })
    writeFileSync(root, '')

    assert.deepEqual(await statusesOf(api, root), broken)
  })

  test('is not readable is 500 everywhere', async (t) => {
    const outer = temporaryFolder(t)
    const root = join(outer, 'root')
    mkdirSync(root)
    writeFileSync(join(root, 'a.png'), 'x')
    chmodSync(outer, 0o755)
    chmodSync(root, 0o777)
    const service = await spawnService(t, MAIN, {
      ...mayDropPrivileges,
      STORAGE_KEY_PORT: '0',
      STORAGE_KEY_HOST: '127.0.0.1',
      STORAGE_KEY_ROOT: root,
      STORAGE_KEY_API_KEY: KEY,
    })
    const api = apiAt(service.baseUrl)
    chmodSync(join(root, '.incoming'), 0o777)
    await dropPrivileges(service)
    assert.deepEqual((await api.get('/file/list')).body, ['a.png'])

    chmodSync(root, 0o000)

    assert.deepEqual(await statusesOf(api, root), broken)
    assert.match((await health(service.api, 'DOWN')).reason, /missing or cannot be written/)
    chmodSync(root, 0o777)
    await health(service.api, 'UP')
    assert.deepEqual((await api.get('/file/list')).body, ['a.png'])
  })

  test('is reached through a symbolic link works, and hard links in it count as files', async (t) => {
    const outer = temporaryFolder(t)
    mkdirSync(join(outer, 'real'))
    symlinkSync('real', join(outer, 'link'))
    const { api } = await startStorageKey(t, { STORAGE_KEY_ROOT: join(outer, 'link') })
    const { body: name } = await upload(api)

    execFileSync('ln', [join(outer, 'real', name), join(outer, 'real', 'hard.png')])

    assert.deepEqual((await api.get('/file/list')).body, [name, 'hard.png'].sort())
    assert.ok((await api.get('/file/hard.png')).bytes.equals(PNG))
  })
})
