import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { entryBeside } from '@plinth/kit/runtime'
import type { Pixels } from './image.ts'

const MAX_PDF_BYTES = 64 * 1024 * 1024
const START_LIMIT_MS = 30_000
const HEAP_MB = 64

/**
 * Draws the first page in a thread that is discarded afterwards, or killed when it takes too long.
 * The renderer is WebAssembly, a sandbox for malicious documents.
 */
export async function firstPageOf(
  path: string,
  timeLimitMs: number,
): Promise<Pixels | 'late' | 'undecided' | undefined> {
  const { size } = await stat(path)
  if (size > MAX_PDF_BYTES) return undefined
  const worker = new Worker(entryBeside(import.meta, 'pdf-thread'), {
    workerData: { path },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    stderr: true,
    stdout: true,
  })
  // The worker may still fail after the time limit; without a listener that would end the process.
  worker.on('error', () => {})
  let started = false
  const message = async (limitMs: number) => {
    const [received] = await once(worker, 'message', { signal: AbortSignal.timeout(limitMs) })
    return received
  }
  try {
    started = await message(START_LIMIT_MS)
    const page: Pixels | undefined = await message(timeLimitMs)
    return page && page.data.length > 0 ? page : undefined
  } catch (error) {
    // Too much memory or time is the document's fault; any other failure says nothing about it.
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_WORKER_OUT_OF_MEMORY') return undefined
    return started && code === 'ABORT_ERR' ? 'late' : 'undecided'
  } finally {
    await worker.terminate()
  }
}
