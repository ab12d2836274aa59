import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { armFailPoint } from '@plinth/kit/runtime'
import {
  type Api,
  type ApiReply,
  apiFor,
  asRoot,
  dropPrivileges,
  mayDropPrivileges,
  spawnService,
} from '@plinth/kit/testing'
import {
  engines,
  logIn,
  sharedStorage,
  startStorage,
  storageEnv,
  temporaryFolder,
  upload,
} from './start-storage.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const SMALL_DISK_BYTES = 3_000_000

for (const engine of engines)
  describe(`a LOCAL store that fails, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)

    for (const step of ['upload:write', 'upload:after-fsync', 'publish:named'])
      test(`a disk that is full at ${step}: 507, nothing left, and it works again`, async (t) => {
        const { api, user, root } = await newcomer()
        const before = await filesIn(root)
        t.after(() => armFailPoint({}))

        armFailPoint({ NODE_ENV: 'test', FAIL_POINT: `${step}=ENOSPC` })
        const refused = await upload(api, user)
        armFailPoint({})

        assert.deepEqual([refused.status, refused.body.code], [507, 'STORAGE_FULL'])
        assert.deepEqual(await filesIn(root), before)
        assert.deepEqual((await api.get('/file/list', { token: user })).body, [])
        assert.equal((await upload(api, user)).status, 201)
      })

    test('the storage test takes the path of an upload: it fails when the spool folder is unusable', async () => {
      const { api, user, admin, root } = await newcomer()
      await rename(`${root}/.incoming`, `${root}/away`)
      await writeFile(`${root}/.incoming`, '')

      const refused = await upload(api, user)
      const probe = await api.post('/api/storage/test/local', undefined, { token: admin })
      await rm(`${root}/.incoming`)
      await rename(`${root}/away`, `${root}/.incoming`)

      assert.deepEqual([refused.status, probe.status], [503, 503])
      assert.equal(probe.body.steps.at(-1).name, 'write')
      assert.equal((await upload(api, user)).status, 201)
    })

    test('the storage test needs only the folders that uploads need', async (t) => {
      const { api, admin, root } = await newcomer()
      const before = process.env.TMPDIR
      t.after(() => {
        if (before === undefined) delete process.env.TMPDIR
        else process.env.TMPDIR = before
      })
      process.env.TMPDIR = `${root}/absent/deeper`

      const probe = await api.post('/api/storage/test/local', undefined, { token: admin })

      assert.equal(probe.status, 200)
    })

    test('a folder that disappears: 503 without a path, and it works again', async () => {
      const { api, user, root, admin } = await newcomer()
      await rename(`${root}/files`, `${root}/away`)

      const refused = await upload(api, user)
      const status = await api.get('/api/storage/status', { token: admin })
      await rename(`${root}/away`, `${root}/files`)

      assert.equal(refused.status, 503)
      assert.doesNotMatch(JSON.stringify(refused.body), new RegExp(root))
      assert.equal(status.body.available, false)
      assert.equal((await upload(api, user)).status, 201)
    })
  })

describe('a disk that fails', () => {
  test('a folder that is not writable: 503, no file is deleted, and the storage test says why', async (t) => {
    const folder = await temporaryFolder(t)
    const env = { ...storageEnv(folder), ...mayDropPrivileges, LOG_LEVEL: 'info' }
    const service = await spawnService(t, MAIN, env)
    const user = await logIn(service.api, 'user')
    const admin = await logIn(service.api, 'admin')
    const { body: file } = await upload(service.api, user)
    await changeFolders(folder, 0o777)
    await changeFolders(`${env.STORAGE_FULL_ROOT}/files`, 0o555)
    await dropPrivileges(service)

    const refused = await upload(service.api, user)
    const undeleted = await service.api.delete(`/file/${file.id}`, { token: user })
    const listed = await service.api.get('/file/list', { token: user })
    const probe = await service.api.post('/api/storage/test/local', undefined, { token: admin })

    for (const { status, body } of [refused, undeleted])
      assert.deepEqual([status, body.code], [503, 'STORAGE_UNAVAILABLE'])
    assert.deepEqual(listed.body, [file])
    assert.equal(probe.status, 503)
    assert.equal(probe.body.steps.at(-1).name, 'write')
    await changeFolders(env.STORAGE_FULL_ROOT, 0o555)
    assert.match((await readinessIs(service.api, 503)).body.reason, /written/)
    // An ordinary user cannot remove the folders otherwise.
    await changeFolders(folder, 0o777)
  })

  test('a real disk that fills up: 507 for files that do not fit, and room again after a delete', async (t) => {
    const service = await startOnSmallDisk(t)
    if (!service) return t.skip('this machine does not let a user mount a memory disk')
    const token = await logIn(service, 'user')
    const text = (size: number) => ({
      name: 'a.txt',
      type: 'text/plain',
      bytes: Buffer.alloc(size, 'a'),
    })

    const first = await upload(service, token, text(1_200_000))
    const refused = await Promise.all([1, 2, 3].map(() => upload(service, token, text(2_500_000))))
    await service.delete(`/file/${first.body.id}`, { token })
    const again = await upload(service, token, text(1_200_000))

    assert.equal(first.status, 201)
    for (const { status, body } of refused)
      assert.deepEqual([status, body.code], [507, 'STORAGE_FULL'])
    assert.equal(again.status, 201)
  })

  test('a full disk is DEGRADED with the reason until there is room, and the service stays ready', async (t) => {
    const service = await startOnSmallDisk(t)
    if (!service) return t.skip('this machine does not let a user mount a memory disk')
    const token = await logIn(service, 'user')
    const uploaded = (size: number) =>
      upload(service, token, { name: 'a.txt', type: 'text/plain', bytes: Buffer.alloc(size, 'a') })
    const first = await uploaded(100_000)
    for (const size of [200_000, 20_000, 100]) while ((await uploaded(size)).status === 201);

    const degraded = await healthIs(service, 'DEGRADED')
    const ready = await service.get('/actuator/health/readiness')
    await service.delete(`/file/${first.body.id}`, { token })

    assert.match(degraded.reason, /no room left/)
    assert.deepEqual([ready.status, ready.body], [200, { status: 'UP' }])
    await healthIs(service, 'UP')
  })

  test(
    'a read-only disk is 503 for changes and says so; reading works and the service stays ready',
    asRoot,
    async (t) => {
      const disk = join(await temporaryFolder({ after: () => {} }), 'disk')
      t.after(async () => {
        spawnSync('umount', ['-l', disk])
        await rm(dirname(disk), { recursive: true, force: true })
      })
      await mkdir(disk)
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', disk])
      if (mounted.status !== 0) return t.skip('no tmpfs can be mounted here')
      const { api, user, admin } = await startStorage(t, { STORAGE_FULL_ROOT: disk })
      const { body: file } = await upload(api, user)
      spawnSync('mount', ['-o', 'remount,ro', disk])

      const changes = [
        await upload(api, user),
        await api.delete(`/file/${file.id}`, { token: user }),
      ]
      const degraded = await healthIs(api, 'DEGRADED')
      const ready = await api.get('/actuator/health/readiness')
      const read = await api.get(`/file/download/${file.id}`, { token: user })
      const thumbnail = await api.get(`/file/thumbnail/${file.id}`, { token: user })
      const status = await api.get('/api/storage/status', { token: admin })
      const tested = await api.post('/api/storage/test/local', undefined, { token: admin })

      for (const { status, headers, body } of changes) {
        assert.deepEqual([status, body.code], [503, 'STORAGE_READ_ONLY'])
        assert.equal(headers.get('retry-after'), '5')
      }
      assert.match(degraded.reason, /read-only/)
      assert.deepEqual([ready.status, ready.body], [200, { status: 'UP' }])
      assert.deepEqual([read.status, thumbnail.status, status.body.available], [200, 200, false])
      assert.match(tested.body.detail, /read-only/)
    },
  )

  test('a start on a full disk fails with a message that says so', async (t) => {
    const folder = await temporaryFolder(t)
    const env = { ...storageEnv(folder), PATH: process.env.PATH }
    const child = spawnOnDisk(folder, env, 'head -c 9000000 /dev/zero >"$0/filler" 2>/dev/null')
    child.stdout.resume()
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    const cannotMount = code === 99 || errors.startsWith('unshare')
    if (cannotMount) return t.skip('this machine does not let a user mount a memory disk')

    assert.match(errors, /disk [^\n]*is full\. Make room/)
    assert.equal(code, 69)
  })

  test('a full disk that also has the database: files are listed, sent and deleted', async (t) => {
    const service = await startOnSmallDisk(t, { withDatabase: true })
    if (!service) return t.skip('this machine does not let a user mount a memory disk')
    const token = await logIn(service, 'user')
    const uploaded = (size: number) =>
      upload(service, token, {
        name: 'a.txt',
        type: 'text/plain',
        bytes: Buffer.alloc(size, 'a'),
      })
    const tiny = await Promise.all(Array.from({ length: 20 }, () => uploaded(100)))
    const large = await uploaded(200_000)
    for (const size of [200_000, 20_000, 100]) {
      let reply = await uploaded(size)
      while (reply.status === 201) reply = await uploaded(size)
      assert.deepEqual([reply.status, reply.body.code], [507, 'STORAGE_FULL'])
    }

    const list = await service.get('/file/list', { token })
    const download = await service.get(`/file/download/${large.body.id}`, { token })
    const deleted: number[] = []
    for (const { body } of [...tiny, large])
      deleted.push((await service.delete(`/file/${body.id}`, { token })).status)

    assert.equal(list.status, 200)
    assert.deepEqual([download.status, download.bytes.length], [200, 200_000])
    assert.deepEqual(new Set(deleted), new Set([204]))
    assert.equal((await uploaded(100_000)).status, 201)
  })
})

/** The body once it has this status. */
async function healthIs(api: Api, status: string) {
  const deadline = performance.now() + 30_000
  for (;;) {
    const { body } = await api.get('/actuator/health')
    if (body.status === status) return body
    assert.ok(performance.now() < deadline, `still ${body.status}`)
    await setTimeout(50)
  }
}

/** The reply once it has this status: the result of a health check is cached for a second. */
async function readinessIs(api: Api, status: number): Promise<ApiReply> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const reply = await api.get('/actuator/health/readiness')
    if (reply.status === status) return reply
    assert.ok(performance.now() < deadline, `still ${reply.status}`)
    await setTimeout(50)
  }
}

async function changeFolders(folder: string, mode: number): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory())
  const paths = folders.map(({ parentPath, name }) => join(parentPath, name))
  await Promise.all([folder, ...paths].map((path) => chmod(path, mode)))
}

async function filesIn(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

/** A service with a small memory disk that only it sees. Runs the shell command `first` before it starts. */
function spawnOnDisk(disk: string, env: NodeJS.ProcessEnv, first = ':') {
  const mount = `mount -t tmpfs -o size=${SMALL_DISK_BYTES} tmpfs "$0"`
  const alone = ['--user', '--map-root-user', '--mount', 'sh', '-c']
  const script = `${mount} || exit 99; ${first}; exec "$@"`
  return spawn('unshare', [...alone, script, disk, process.execPath, MAIN], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Puts the storage root, or all data, on that disk. */
async function startOnSmallDisk(t: TestContext, { withDatabase = false } = {}) {
  const folder = await temporaryFolder(t)
  const env = { ...storageEnv(folder), LOG_LEVEL: 'info', PATH: process.env.PATH }
  const disk = withDatabase ? folder : env.STORAGE_FULL_ROOT
  await mkdir(disk, { recursive: true })
  const child = spawnOnDisk(disk, env)
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /"url":"(http[^"]+)".*"msg":"listening"/.exec(line)?.[1]
    if (url) return apiFor(url)
  }
  return undefined
}
