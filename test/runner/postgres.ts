import { startPostgres } from '../../packages/kit/testing/databases/postgres.ts'
import { dropTestDatabases } from '../../packages/kit/testing/databases/test-databases.ts'

/** One server for all test processes, and the environment variables that point them to it. */
type ProvidedPostgres = { env: Record<string, string>; stop(): Promise<void> }

export async function providePostgres(
  { TEST_POSTGRES_URL: given, TEST_POSTGRES_MISSING: missing } = process.env,
): Promise<ProvidedPostgres> {
  if (missing) return { env: { TEST_POSTGRES_MISSING: missing }, stop: async () => {} }
  if (given) return { env: { TEST_POSTGRES_URL: given }, stop: () => dropTestDatabases(given) }
  try {
    const server = await startPostgres()
    return { env: { TEST_POSTGRES_URL: server.url }, stop: () => server.stop() }
  } catch (error) {
    const [why] = (error as Error).message.split('\n')
    const reason = `no PostgreSQL (${why}): apt-get install postgresql, or set TEST_POSTGRES_URL`
    return { env: { TEST_POSTGRES_MISSING: reason }, stop: async () => {} }
  }
}
