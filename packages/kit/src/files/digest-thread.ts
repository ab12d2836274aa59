import { createHash, type Hash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import type { DigestTask } from './digest-worker.ts'

const hashes = new Map<number, Hash>()

parentPort?.on('message', ({ file, pieces, last }: DigestTask) => {
  const hash = hashes.get(file) ?? createHash('sha256')
  hashes.set(file, hash)
  for (const piece of pieces) {
    hash.update(piece)
    piece.buffer.transfer(0) // Gone at once, not when the heap is next looked through.
  }
  if (last) hashes.delete(file)
  parentPort?.postMessage(last ? hash.digest('hex') : '')
})
