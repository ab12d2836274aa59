import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import type { SourceFile, StorageProvider } from './provider.ts'

type Place = {
  provider: StorageProvider
  /** Where the suite may leave files on their way into the provider. */
  folder: string
}

/** A file on disk with these bytes, as the upload leaves it. */
export async function sourceFile(folder: string, bytes: Buffer): Promise<SourceFile> {
  const path = join(folder, randomUUID())
  await writeFile(path, bytes)
  return {
    path,
    sizeBytes: bytes.length,
    contentType: 'application/octet-stream',
    checksumSha256: createHash('sha256').update(bytes).digest('hex'),
  }
}

/** What every provider must do, whatever it is made of. */
export function providerSuite(name: string, place: () => Place, skip: string | false = false) {
  const put = async (bytes: Buffer, key = `suite/${randomUUID()}`) => {
    const { provider, folder } = place()
    await provider.put(key, await sourceFile(folder, bytes))
    return key
  }
  const read = async (key: string, range?: { start: number; end: number }) => {
    const stream = await place().provider.open(key, range)
    return stream && buffer(stream)
  }

  describe(`${name} as a storage provider`, { skip }, () => {
    for (const size of [1, 65_536, 3_000_000])
      test(`gives back ${size} bytes as they were put`, async () => {
        const bytes = randomBytes(size)

        const key = await put(bytes)

        assert.ok((await read(key))?.equals(bytes))
        assert.equal(await place().provider.sizeOf(key), size)
      })

    test('gives back a range, both ends included', async () => {
      const bytes = randomBytes(200_000)
      const key = await put(bytes)

      assert.deepEqual(await read(key, { start: 0, end: 0 }), bytes.subarray(0, 1))
      assert.deepEqual(await read(key, { start: 100, end: 150_000 }), bytes.subarray(100, 150_001))
      assert.deepEqual(await read(key, { start: 199_999, end: 199_999 }), bytes.subarray(199_999))
    })

    test('answers nothing for a key that is not there', async () => {
      assert.equal(await read('suite/absent'), undefined)
      assert.equal(await place().provider.sizeOf('suite/absent'), undefined)
    })

    test('removes an object, and does not mind when it is gone already', async () => {
      const key = await put(randomBytes(10))

      await place().provider.remove(key)
      await place().provider.remove(key)

      assert.equal(await read(key), undefined)
    })

    test('lists the keys of one prefix only', async () => {
      const first = await put(randomBytes(10), `prefix-a/${randomUUID()}`)
      const second = await put(randomBytes(10), `prefix-a/${randomUUID()}`)
      await put(randomBytes(10), `prefix-b/${randomUUID()}`)

      const keys = await Array.fromAsync(place().provider.list('prefix-a'))

      assert.deepEqual(keys.sort(), [first, second].sort())
      assert.deepEqual(await Array.fromAsync(place().provider.list('prefix-c')), [])
    })

    test('lets go of an object that is not read to its end', async () => {
      const key = await put(randomBytes(5_000_000))

      for (let round = 0; round < 60; round++) {
        const stream = await place().provider.open(key)
        stream?.destroy()
      }

      assert.equal((await read(key))?.length, 5_000_000)
    })

    test('passes its own probe and leaves nothing behind', async () => {
      const steps = await place().provider.probe()

      assert.deepEqual(
        steps.filter(({ passed }) => !passed),
        [],
      )
      assert.deepEqual(
        steps.slice(-3).map(({ name }) => name),
        ['write', 'read back', 'delete'],
      )
      assert.deepEqual(await Array.fromAsync(place().provider.list('probe')), [])
    })
  })
}
