/** The smallest service on the kit: a JSON route, and one that verifies a token and reads a row. */
import { type Db, openDatabase, prepared } from '@plinth/kit/database'
import { callerGuard, createServer, run, Type } from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import { notFound } from '@plinth/kit/problems'
import { systemClock as clock } from '@plinth/kit/runtime'
import {
  createAccessTokenSigner,
  createAccessTokenVerifier,
  openSigningKeys,
  type SigningKeyTables,
  signingKeyMigrations,
} from '@plinth/kit/tokens'

type Tables = SigningKeyTables & { greetings: { id: number; text: string } }

const GreetingReply = Type.Object({ id: Type.Integer(), text: Type.String() })
const schema = { response: { 200: GreetingReply } }
const rules = { issuer: 'bench', audience: 'bench', clock, lifetimeSeconds: 900 }

await run(async () => {
  const log = createLogger('bench', process.env.LOG_LEVEL ?? 'warn')
  const server = createServer({ log, clock })
  server.get('/greeting', { schema, handler: () => ({ id: 1, text: 'Good morning' }) })
  await guardedRoute(server)
  return { server, host: 'localhost', port: Number(process.env.BENCH_PORT) }
})

async function guardedRoute(server: ReturnType<typeof createServer>): Promise<void> {
  const { db, close } = await openGreetings(`sqlite:${process.env.SUITE_DATA}/bench.db`)
  server.onClose(close)
  const masterKey = Buffer.alloc(32)
  const keys = await openSigningKeys({ db, clock, masterKey, tokenLifetimeSeconds: 900 })
  const guard = callerGuard(createAccessTokenVerifier(rules, keys).verify)
  const subject = { userId: '1', username: 'ada', roles: ['ROLE_USER'], sessionId: '1' }
  server.get('/token', () => createAccessTokenSigner(rules, keys).sign(subject))
  // The same way the services read the caller of each request.
  const greetingById = prepared((greetings: Db<Tables>, { id }: { id: number }) =>
    greetings.selectFrom('greetings').selectAll().where('id', '=', id),
  )
  server.get('/greetings/mine', {
    schema,
    onRequest: guard.caller,
    handler: async ({ caller }) => {
      const [greeting] = await greetingById(db, { id: Number(caller.userId) })
      if (!greeting) throw notFound()
      return greeting
    },
  })
}

async function openGreetings(url: string) {
  const greetings = {
    name: 'bench-0001-greetings',
    up: async (db: Parameters<(typeof signingKeyMigrations)[number]['up']>[0]) => {
      await db.schema
        .createTable('greetings')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('text', 'varchar(100)', (column) => column.notNull())
        .execute()
      await db.insertInto('greetings').values({ id: 1, text: 'Good morning' }).execute()
    },
  }
  return openDatabase<Tables>(url, [...signingKeyMigrations, greetings])
}
