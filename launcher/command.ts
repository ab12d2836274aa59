/** `npm start` runs everything; `npm start -- identity` one service, `WORKERS=4` in four processes. */
import { isatty } from 'node:tty'
import { closeOnSignals, exitWith, readEnvFile } from '@plinth/kit'
import { panelOf, startedLine } from './panel.ts'
import { runService } from './run-service.ts'
import { startStack } from './start-stack.ts'

try {
  readEnvFile()
  const [name] = process.argv.slice(2)
  await (name === undefined ? runSuite() : runService(name))
} catch (error) {
  exitWith(error)
}

async function runSuite(): Promise<void> {
  const terminal = isatty(1)
  // On a terminal the panel is the message: log lines would push it away.
  if (terminal) process.env.LOG_LEVEL ??= 'error'
  const stack = await startStack()
  closeOnSignals(stack.close)
  console.log((terminal ? panelOf : startedLine)(stack, performance.now()))
}
