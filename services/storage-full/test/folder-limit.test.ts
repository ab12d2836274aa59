import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'
import { insertFolders, MAX_FOLDERS } from './many-folders.ts'
import { engines, startStorage } from './start-storage.ts'
import { fileIdOf, locationOf, metadata, offsetOf, textOf, tusFor } from './tus-client.ts'

for (const engine of engines)
  describe(`uploads into too many folders, on ${engine.name}`, engine.options, () => {
    /** The owner has room for one folder more. */
    const start = async (t: TestContext) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const { api, user } = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      const { db, close } = await openDatabase<StorageTables>(
        STORAGE_FULL_DATABASE_URL,
        storageMigrations,
      )
      t.after(close)
      await insertFolders(db, '2', MAX_FOLDERS - 1)
      const tus = tusFor(api, user)
      const begin = (folder: string) =>
        tus.create({ headers: { 'upload-metadata': metadata({ filename: 'a.txt', folder }) } })
      const token = { token: user }
      return { tus, begin, api, token }
    }

    test('one whose folder cannot be created is refused before its first byte', async (t) => {
      const { begin, api, token } = await start(t)

      const tooDeep = await begin('/new/deeper')
      const known = await begin('/7')
      const last = await begin('/new')

      assert.deepEqual([tooDeep.status, tooDeep.body.code], [413, 'QUOTA_EXCEEDED'])
      assert.deepEqual([known.status, last.status], [201, 201])
      const { body } = await api.get('/file/uploads', token)
      assert.equal(body.length, 2)
    })

    test('one that is complete waits until a folder is deleted, and no byte is sent again', async (t) => {
      const { tus, begin, api, token } = await start(t)
      const location = locationOf(await begin('/late'))
      await api.post('/file/folders', { path: '/meanwhile' }, token)

      const last = await tus.patch(location, 0, textOf(100))
      const waiting = await tus.head(location)
      await api.delete('/file/folders?path=/7', token)
      const made = await tus.head(location)

      assert.deepEqual([last.status, last.body.code], [413, 'QUOTA_EXCEEDED'])
      assert.deepEqual([waiting.status, waiting.headers.get('retry-after')], [423, '30'])
      assert.deepEqual([made.status, offsetOf(made)], [200, 100])
      const { body: file } = await api.get(`/file/info/${fileIdOf(made)}`, token)
      assert.equal(file.folder, '/late')
    })
  })
