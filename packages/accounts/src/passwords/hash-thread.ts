import { parentPort } from 'node:worker_threads'
import { hashSync, verifySync } from '@node-rs/argon2'
import type { HashTask } from './phc.ts'

const ARGON2ID = 2

// One task at a time, in the order of arrival.
parentPort?.on('message', (task: HashTask) => {
  try {
    parentPort?.postMessage({ result: perform(task) })
  } catch (error) {
    parentPort?.postMessage({ error: String(error) })
  }
})

/**
 * Keyboards differ in how they encode the same password, so it is normalised. That happens in this thread
 * because hostile text makes it slow.
 */
function perform(task: HashTask): string | boolean {
  const password = task.password.normalize('NFKC')
  if (task.kind === 'verify') return verifySync(task.hash, password)
  const { memoryKib, passes, lanes } = task.cost
  return hashSync(password, {
    algorithm: ARGON2ID,
    memoryCost: memoryKib,
    timeCost: passes,
    parallelism: lanes,
  })
}
