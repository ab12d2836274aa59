import type { TestContext } from 'node:test'
import { createPayments, loadConfig } from '@plinth/payments'
import { temporaryFolder } from './run-plinth.ts'

/** A fresh data folder and a fresh per-user state folder. */
export const foldersOf = (t: TestContext) => ({
  SUITE_DATA: temporaryFolder(t),
  XDG_STATE_HOME: temporaryFolder(t),
})

/** Starts payments with service keys required, on its own port; returns the environment to reach it. */
export async function startService(t: TestContext) {
  const env = {
    ...foldersOf(t),
    PAYMENTS_PORT: '0',
    PAYMENTS_ACCESS: 'keys',
    LOG_LEVEL: 'silent',
    PAYMENTS_DRAIN_SECONDS: '0',
  }
  const server = await createPayments(loadConfig(env))
  await server.listen({ port: 0, host: 'localhost' })
  t.after(() => server.close())
  const { port } = server.server.address() as { port: number }
  return { ...env, PAYMENTS_PORT: String(port) }
}
