import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { StorageProvider } from './provider.ts'

/** The last three steps of every probe: write an object, read it back, remove it. */
export function probeObject(provider: StorageProvider, prefix?: string) {
  const name = `probe-${randomUUID()}.txt`
  const key = prefix === undefined ? name : `${prefix}/${name}`
  const content = Buffer.from(`probe ${randomUUID()}`)
  return {
    write: async () => {
      await withFile(content, (path) => provider.put(key, { path, ...describe(content) }))
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

function describe(content: Buffer) {
  return {
    sizeBytes: content.length,
    contentType: 'text/plain',
    checksumSha256: createHash('sha256').update(content).digest('hex'),
  }
}

async function withFile(content: Buffer, use: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'storage-probe-'))
  try {
    const path = join(folder, 'probe.txt')
    await writeFile(path, content)
    await use(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
