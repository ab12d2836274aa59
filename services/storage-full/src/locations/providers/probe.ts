import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { Spool } from '@plinth/kit/files'
import type { ProbeStep, StorageProvider } from './provider.ts'

type Step = { name: string; run(): Promise<string>; advise(error: unknown): string }

/** Runs the steps in order; the first failure ends the probe with advice instead of a result. */
export async function runProbe(steps: Step[]): Promise<ProbeStep[]> {
  const done: ProbeStep[] = []
  for (const { name, run, advise } of steps) {
    try {
      done.push({ name, passed: true, message: await run() })
    } catch (error) {
      done.push({ name, passed: false, message: advise(error), cause: causeOf(error) })
      break
    }
  }
  return done
}

/** Never the message of the error itself: some contain addresses and keys. */
function causeOf(error: unknown): string {
  const { code, name, cause } = error as NodeJS.ErrnoException
  return cause instanceof Error ? cause.message : (code ?? name)
}

type ProbeTarget = {
  /** The spool folder of uploads: a probe takes the same path as an upload. */
  spoolFolder: string
  prefix?: string | undefined
}

/** The last three steps of every probe: write an object, read it back, remove it. */
export function probeObject(provider: StorageProvider, { prefix, spoolFolder }: ProbeTarget) {
  const name = `probe-${randomUUID()}.txt`
  const key = prefix === undefined ? name : `${prefix}/${name}`
  const text = Buffer.from(`probe ${randomUUID()}`)
  return {
    write: async () => {
      await using content = new Spool(spoolFolder, { sha256: true })
      content.write(Buffer.from(text))
      await content.finish()
      const checksumSha256 = content.sha256 ?? ''
      await provider.put(key, { content, contentType: 'text/plain', checksumSha256 })
      return 'A small object was written.'
    },
    readBack: async () => {
      try {
        const stream = await provider.open(key)
        const found = stream && (await buffer(stream))
        if (!found?.equals(text)) throw new Error('different bytes')
        const part = await provider.open(key, { start: 1, end: 4 })
        if (!part || !(await buffer(part)).equals(text.subarray(1, 5)))
          throw new Error('different range')
      } catch (error) {
        await provider.remove(key).catch(() => {}) // The probe ends here and leaves no object.
        throw error
      }
      return 'The same bytes came back.'
    },
    remove: async () => {
      await provider.remove(key)
      if ((await provider.sizeOf(key)) !== undefined) throw new Error('still there')
      return 'The object was removed.'
    },
  }
}
