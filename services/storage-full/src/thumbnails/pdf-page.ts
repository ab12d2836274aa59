import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import type { Pixels } from './image.ts'

const LARGEST_PDF_BYTES = 64 * 1024 * 1024
const TIME_LIMIT_MS = 5_000
const HEAP_MB = 64

/**
 * Draws the first page in a thread that is thrown away afterwards, or killed when it takes too
 * long. The renderer is WebAssembly: a malicious document stays inside it.
 */
export async function firstPageOf(
  path: string,
  timeLimitMs = TIME_LIMIT_MS,
): Promise<Pixels | 'undecided' | undefined> {
  const { size } = await stat(path)
  if (size > LARGEST_PDF_BYTES) return undefined
  const worker = new Worker(new URL('./pdf-worker.ts', import.meta.url), {
    workerData: { path },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    stderr: true,
    stdout: true,
  })
  // It may still fail after the time limit; without a listener that would end the process.
  worker.on('error', () => {})
  try {
    const signal = AbortSignal.timeout(timeLimitMs)
    const [page] = await once(worker, 'message', { signal })
    return page && page.data.length > 0 ? page : undefined
  } catch (error) {
    // The document used up the memory; any other failure says nothing about it.
    const { code } = error as NodeJS.ErrnoException
    return code === 'ERR_WORKER_OUT_OF_MEMORY' ? undefined : 'undecided'
  } finally {
    await worker.terminate()
  }
}
