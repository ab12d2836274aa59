import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { after, describe, type TestContext, test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { until } from '../../../test/until.ts'
import { activateObject, engines, startStorage, type TestStorage, upload } from './start-storage.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Server) : await startS3({ after })

/** Unmounts the disk of the storage root, and mounts it again. */
function diskOf({ root }: TestStorage) {
  const away = `${root}-away`
  return { unmount: () => rename(root, away), mount: () => rename(away, root) }
}

for (const engine of engines)
  describe(`a disk that is not mounted, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t), ...env })

    for (const left of ['nothing', 'an empty mount point'])
      test(`while the service runs, leaving ${left}: 503, nothing written, and it recovers`, async (t) => {
        const service = await start(t)
        const { api, user, admin, root } = service
        const { body: file } = await upload(api, user)
        const disk = diskOf(service)
        await disk.unmount()
        if (left !== 'nothing') await mkdir(`${root}/files`, { recursive: true })

        const replies = [
          await upload(api, user),
          await api.get(`/file/stream/${file.id}`, { token: user }),
          await api.get(`/file/thumbnail/${file.id}`, { token: user }),
          await api.delete(`/file/${file.id}`, { token: user }),
        ]
        const status = await api.get('/api/storage/status', { token: admin })
        const made = existsSync(root) ? await readdir(`${root}/files`) : []
        await rm(root, { recursive: true, force: true })
        await disk.mount()

        for (const { status, body } of replies)
          assert.deepEqual([status, body.code], [503, 'STORAGE_UNAVAILABLE'])
        assert.equal(status.body.available, false)
        assert.deepEqual(made, [])
        const again = await api.get(`/file/stream/${file.id}`, { token: user })
        assert.ok(again.bytes.equals(sampleFiles.png))
        assert.equal((await upload(api, user)).status, 201)
      })

    test('readiness reports it until it is mounted again; liveness does not check it', async (t) => {
      const service = await start(t)
      const { api } = service
      const disk = diskOf(service)
      const ready = () => api.get('/actuator/health/readiness')
      assert.equal((await ready()).status, 200)

      await disk.unmount()
      // The result of a health check is cached for a second.
      const { body } = await until(ready, ({ status }) => status === 503)
      const alive = await api.get('/actuator/health/liveness')
      await disk.mount()

      assert.deepEqual(body, {
        status: 'DOWN',
        reason: 'The storage folder is missing or cannot be written.',
      })
      assert.equal(alive.status, 200)
      await until(ready, ({ status }) => status === 200)
    })

    test('testing, activating or saving the path does not create the folder again', async (t) => {
      const service = await start(t)
      const { api, admin, root } = service
      await rename(`${root}/files`, `${root}/away`)

      await api.put('/api/storage/config/local', { path: 'files' }, { token: admin })
      const tested = await api.post('/api/storage/test/local', undefined, { token: admin })
      const activated = await api.put(
        '/api/storage/provider',
        { provider: 'LOCAL' },
        { token: admin },
      )

      assert.deepEqual([tested.status, tested.body.available], [503, false])
      assert.deepEqual(tested.body.steps, [
        {
          name: 'folder',
          passed: false,
          message:
            'The folder does not exist: mount its disk, or create it below the storage root.',
        },
      ])
      assert.equal(activated.status, 503)
      assert.ok(!existsSync(`${root}/files`))
    })

    test('an empty folder of the same name is not mistaken for the one with the files', async (t) => {
      const { api, admin, root } = await start(t)
      await rename(`${root}/files`, `${root}/away`)
      await mkdir(`${root}/files`)

      const { status, body } = await api.post('/api/storage/test/local', undefined, {
        token: admin,
      })

      assert.equal(status, 503)
      assert.equal(body.steps.at(-1).name, 'contents')
      assert.match(body.detail, /not files-\w+, in which this service keeps its files: mount/)
    })

    test('a new folder is created when it is saved, and not again when it is tested', async (t) => {
      const { api, admin, root } = await start(t)
      const probe = () => api.post('/api/storage/test/local', undefined, { token: admin })

      await api.put('/api/storage/config/local', { path: 'second/disk' }, { token: admin })
      const passed = await probe()
      await rmdir(`${root}/second/disk`)
      const failed = await probe()

      assert.equal(passed.status, 200)
      assert.deepEqual([failed.status, failed.body.steps.at(-1).name], [503, 'folder'])
      assert.deepEqual(await readdir(`${root}/second`), [])
    })

    test('at startup: the service runs, refuses uploads, and works once the disk is mounted', async (t) => {
      const before = await start(t)
      const { body: file } = await upload(before.api, before.user)
      await before.server.close()
      const disk = diskOf(before)
      await disk.unmount()

      const { api, user, root } = await startStorage(t, before.env)
      const refused = await upload(api, user)
      const made = existsSync(root)
      await disk.mount()

      assert.deepEqual([refused.status, refused.body.code], [503, 'STORAGE_UNAVAILABLE'])
      assert.equal(made, false)
      assert.equal((await upload(api, user)).status, 201)
      const read = await api.get(`/file/stream/${file.id}`, { token: user })
      assert.ok(read.bytes.equals(sampleFiles.png))
    })

    test('when OBJECT is active a new machine does not need the old root', {
      skip: noS3,
    }, async (t) => {
      const before = await start(t)
      await activateObject(before, s3.settings)
      await before.server.close()
      await rm(before.root, { recursive: true })

      const { api, user } = await startStorage(t, before.env)

      assert.equal((await upload(api, user)).status, 201)
    })
  })
