import { createHash, type Hash } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import type { DigestTask } from './blocks.ts'

const memory: SharedArrayBuffer = workerData

const hashes = new Map<number, Hash>()

parentPort?.on('message', ({ file, offset, length, last }: DigestTask) => {
  const hash = hashes.get(file) ?? createHash('sha256')
  hashes.set(file, hash)
  hash.update(new Uint8Array(memory, offset, length))
  if (last) hashes.delete(file)
  parentPort?.postMessage(last ? hash.digest('hex') : '')
})
