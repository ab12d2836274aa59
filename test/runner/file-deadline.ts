/**
 * Loaded into every test process: ends it if it runs too long. Node's own timeout fails the test but
 * still waits for the process, forever if something keeps it alive.
 */
import { isMainThread } from 'node:worker_threads'

const seconds = Number(process.env.TEST_FILE_SECONDS)

if (isMainThread && seconds > 0)
  setTimeout(() => {
    console.error(`${process.argv[1]} was still running after ${seconds} s.`)
    process.exit(1)
  }, seconds * 1000).unref()
