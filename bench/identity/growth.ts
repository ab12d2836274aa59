import { mediansInTurns } from '../harness/latency.ts'
import { atMost, number, type Row } from '../harness/row.ts'
import { ROWS } from '../harness/settings.ts'
import { ADMIN, type Identity, logIn, withIdentity } from './service.ts'
import { seededDatabase } from './users.ts'

const FEW = 1000
const BAR = 1.3
/** The total is counted up to 10,000, which costs more than to 1000 and the same from there on. */
const COUNTED_BAR = 1.5

/** A search by part may take this many times as long as one by prefix. */
const PARTS_BAR = 3

/** Each search finds one user, or a page of the hundred users that match. */
const SEARCHES: Record<string, (users: number) => string> = {
  q: (users) => `user${users / 2}`,
  mfa: () => 'true',
  lastSeenTo: () => '2021-01-01',
}

type Requests = {
  login(): Promise<Response>
  page(): Promise<Response>
  search(name: string): Promise<Response>
  parts(what: string): Promise<Row>
}

/** The same requests with few and with many users. */
export function growth(): Promise<Row[]> {
  return withUsers(FEW, (few) =>
    withUsers(ROWS, async (many) => [
      row('login', await mediansInTurns([few.login, many.login])),
      row('GET /api/users', await mediansInTurns([few.page, many.page]), COUNTED_BAR),
      ...(await inOrder(Object.keys(SEARCHES), async (name) => {
        const medians = await mediansInTurns([few, many].map((users) => () => users.search(name)))
        return row(`GET /api/users?${name}=…`, medians)
      })),
      await many.parts(`GET /api/users?contains=… with ${number(ROWS)} users, against q=…`),
    ]),
  )
}

/** A search by part against one by prefix. Both find hundreds of users: `user777…`, and `…0777…`. */
export async function partsRow({ server, token }: Identity, what: string): Promise<Row> {
  const headers = { authorization: `Bearer ${token}` }
  const find = (query: string) => () => fetch(`${server.url}/api/users?${query}`, { headers })
  const [prefix = 0, part = 0] = await mediansInTurns([find('q=user777'), find('contains=0777')])
  return {
    what,
    ours: `${part.toFixed(2)} ms`,
    baseline: `${prefix.toFixed(2)} ms`,
    ratio: part / prefix,
    ...atMost(PARTS_BAR, part / prefix),
  }
}

async function inOrder<T>(names: string[], work: (name: string) => Promise<T>): Promise<T[]> {
  const done: T[] = []
  for (const name of names) done.push(await work(name))
  return done
}

async function withUsers<T>(users: number, work: (requests: Requests) => Promise<T>): Promise<T> {
  const database = await seededDatabase(users)
  try {
    return await withIdentity(
      (identity) => {
        const { server, token } = identity
        const headers = { authorization: `Bearer ${token}` }
        return work({
          login: () => logIn(server, { ...ADMIN, username: `user${users / 2}` }),
          page: () => fetch(`${server.url}/api/users`, { headers }),
          search: (name) =>
            fetch(`${server.url}/api/users?${name}=${SEARCHES[name]?.(users)}`, { headers }),
          parts: (what) => partsRow(identity, what),
        })
      },
      { IDENTITY_DATABASE_URL: database.url, IDENTITY_MASTER_KEY: database.masterKey },
    )
  } finally {
    database.remove()
  }
}

function row(what: string, [few = 0, many = 0]: number[], bar = BAR): Row {
  return {
    what: `${what} with ${number(ROWS)} users, against ${number(FEW)}`,
    ours: `${many.toFixed(2)} ms`,
    baseline: `${few.toFixed(2)} ms`,
    ratio: many / few,
    ...atMost(bar, many / few),
  }
}
