/** Loaded into every test process. */
import { isMainThread } from 'node:worker_threads'

const seconds = Number(process.env.TEST_FILE_SECONDS)

// Node's own timeout fails the test but still waits for the process, forever if something keeps it alive.
if (isMainThread && seconds > 0)
  setTimeout(() => {
    console.error(`${process.argv[1]} was still running after ${seconds} s.`)
    process.exit(1)
  }, seconds * 1000).unref()

// Of a file that throws while it loads, Node says only "test failed".
if (isMainThread)
  process.on('uncaughtExceptionMonitor', (error) => console.error(error.stack ?? error))
