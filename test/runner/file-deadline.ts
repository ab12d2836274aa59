/**
 * Loaded into every test process: ends one that runs for too long. Node's own timeout fails a test
 * and then still waits for the process, for ever if a loop in it never ends.
 */
import { isMainThread } from 'node:worker_threads'

const seconds = Number(process.env.TEST_FILE_SECONDS)

if (isMainThread && seconds > 0)
  setTimeout(() => {
    console.error(`${process.argv[1]} was still running after ${seconds} s.`)
    process.exit(1)
  }, seconds * 1000).unref()
