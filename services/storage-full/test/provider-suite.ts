import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { Spool } from '@plinth/kit/files'
import type { ByteRange, SourceFile, StorageProvider } from '../src/locations/providers/provider.ts'

type Place = {
  /** A provider whose keys all begin with the prefix. */
  open(prefix: string): StorageProvider
  /** Where the suite may spool files before they go to the provider. */
  folder: string
  skip?: string | false
}

/** These bytes, spooled like an upload. */
export async function sourceFile(folder: string, bytes: Buffer): Promise<SourceFile> {
  const content = new Spool(folder, { sha256: true })
  await content.write(Buffer.from(bytes))
  await content.finish()
  const checksumSha256 = content.sha256 ?? ''
  return { content, contentType: 'application/octet-stream', checksumSha256 }
}

/** The behaviour that every provider must have. */
export function providerSuite(name: string, { open, folder, skip = false }: Place) {
  const put = async (provider: StorageProvider, key: string, bytes: Buffer) => {
    await provider.put(key, await sourceFile(folder, bytes))
    return key
  }
  const read = async (provider: StorageProvider, key: string, range?: ByteRange) => {
    const stream = await provider.open(key, range)
    return stream && buffer(stream)
  }
  const opened: StorageProvider[] = []
  const prepared = async (prefix: string) => {
    const provider = open(prefix)
    opened.push(provider)
    await provider.prepare()
    return provider
  }

  describe(`${name} as a storage provider`, { skip }, () => {
    let suite: StorageProvider
    before(async () => {
      suite = await prepared('suite')
    })
    after(() => {
      for (const provider of opened) provider.close()
    })
    const newKey = () => `suite/${randomUUID()}`

    for (const size of [1, 65_536, 3_000_000])
      test(`returns ${size} bytes as they were stored`, async () => {
        const bytes = randomBytes(size)

        const key = await put(suite, newKey(), bytes)

        assert.ok((await read(suite, key))?.equals(bytes))
        assert.equal(await suite.sizeOf(key), size)
      })

    test('returns a range, both ends included', async () => {
      const bytes = randomBytes(200_000)
      const key = await put(suite, newKey(), bytes)

      assert.deepEqual(await read(suite, key, { start: 0, end: 0 }), bytes.subarray(0, 1))
      assert.deepEqual(
        await read(suite, key, { start: 100, end: 150_000 }),
        bytes.subarray(100, 150_001),
      )
      assert.deepEqual(
        await read(suite, key, { start: 199_999, end: 199_999 }),
        bytes.subarray(199_999),
      )
    })

    test('fails for a range that ends after the object, before the first byte', async () => {
      const key = await put(suite, newKey(), randomBytes(1000))

      for (const start of [0, 2000])
        await assert.rejects(suite.open(key, { start, end: 2999 }), { code: 'STORAGE_UNAVAILABLE' })
    })

    test('returns undefined for a missing key', async () => {
      assert.equal(await read(suite, 'suite/absent'), undefined)
      assert.equal(await suite.sizeOf('suite/absent'), undefined)
    })

    test('removes an object, even if it is already gone', async () => {
      const key = await put(suite, newKey(), randomBytes(10))

      await suite.remove(key)
      await suite.remove(key)

      assert.equal(await read(suite, key), undefined)
    })

    test('lists the keys of one prefix only', async () => {
      const some = await prepared('some')
      const others = await prepared('others')
      const none = await prepared('none')
      const first = await put(some, `some/${randomUUID()}`, randomBytes(10))
      const second = await put(some, `some/${randomUUID()}`, randomBytes(10))
      await put(others, `others/${randomUUID()}`, randomBytes(10))

      const keys = await Array.fromAsync(some.list('some'))

      assert.deepEqual(keys.sort(), [first, second].sort())
      assert.deepEqual(await Array.fromAsync(none.list('none')), [])
    })

    test('may be prepared again without losing anything', async () => {
      const key = await put(suite, newKey(), randomBytes(10))

      await suite.prepare()

      assert.equal(await suite.sizeOf(key), 10)
    })

    test('releases an object that is not read to its end', async () => {
      const key = await put(suite, newKey(), randomBytes(5_000_000))

      for (let round = 0; round < 60; round++) {
        const stream = await suite.open(key)
        stream?.destroy()
      }

      assert.equal((await read(suite, key))?.length, 5_000_000)
    })

    test('passes its own probe and leaves nothing behind', async () => {
      const probed = await prepared('probed')

      const steps = await probed.probe()

      assert.deepEqual(
        steps.filter(({ passed }) => !passed),
        [],
      )
      assert.deepEqual(
        steps.slice(-3).map(({ name }) => name),
        ['write', 'read back', 'delete'],
      )
      assert.deepEqual(await Array.fromAsync(probed.list('probed')), [])
    })
  })
}

/** The error codes of several calls; `false` stands for a call that did not fail. */
export function codesOf(outcomes: PromiseSettledResult<unknown>[]) {
  return new Set(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code))
}
