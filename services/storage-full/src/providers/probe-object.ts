import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { Spool } from '@plinth/kit'
import type { StorageProvider } from './provider.ts'

/** The last three steps of every probe: write an object, read it back, remove it. */
export function probeObject(provider: StorageProvider, prefix?: string) {
  const name = `probe-${randomUUID()}.txt`
  const key = prefix === undefined ? name : `${prefix}/${name}`
  const content = Buffer.from(`probe ${randomUUID()}`)
  return {
    write: async () => {
      await write(provider, key, content)
      return 'A small object was written.'
    },
    readBack: async () => {
      const stream = await provider.open(key)
      const found = stream ? await buffer(stream) : undefined
      if (!found?.equals(content)) throw new Error('other bytes')
      return 'The same bytes came back.'
    },
    remove: async () => {
      await provider.remove(key)
      if ((await provider.sizeOf(key)) !== undefined) throw new Error('still there')
      return 'The object was removed.'
    },
  }
}

async function write(provider: StorageProvider, key: string, text: Buffer): Promise<void> {
  await using content = new Spool(tmpdir(), { sha256: true })
  content.write(text)
  await content.finish()
  const checksumSha256 = content.sha256 ?? ''
  await provider.put(key, { content, contentType: 'text/plain', checksumSha256 })
}
