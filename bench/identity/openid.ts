/**
 * What the OpenID provider costs. Compares CPU time per request, because most of it is signing, in which other
 * work on the machine shows at once.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { atLeast, type Row } from '../harness/row.ts'
import type { BenchServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { type Client, openClient, refreshLogin, signIn } from './client.ts'
import { ADMIN, withIdentity } from './service.ts'

const ROUNDS = Math.max(2, Math.round(SECONDS * 2))
const REQUESTS = 256
const SESSIONS = 16

/** The requests of one round, by name. */
type Works = Record<string, () => Promise<void>>

export function openid(): Promise<Row[]> {
  return withIdentity(async ({ server }) => {
    const works = await worksOf(server, await openClient(server, ADMIN))
    const spent = await cpuOf(server, works)
    const signing = await signaturesMs()
    const row = (what: string, name: string, baseline: number, bar?: number): Row => {
      const ours = spent[name] ?? Number.NaN
      const ratio = baseline / ours
      const figures = { ours: ms(ours), baseline: ms(baseline), ratio }
      return { what: `processor time of ${what}`, ...figures, ...(bar && atLeast(bar, ratio)) }
    }
    const of = (name: string) => spent[name] ?? Number.NaN
    return [
      row('a code exchange, against signing RS256 and ES256 alone', 'exchange', signing, 0.5),
      row('a refresh of a client, against /api/auth/refresh', 'refresh', of('login refresh'), 0.8),
      row('the same with an ID token', 'refresh with ID token', of('login refresh')),
      row('userinfo, against GET /api/users/me', 'userinfo', of('me'), 0.9),
      row(
        'authorize in a signed-in browser, against GET /api/users/me',
        'authorize',
        of('me'),
        0.5,
      ),
    ]
  })
}

const ms = (value: number) => `${value.toFixed(3)} ms`

export async function worksOf(server: BenchServer, client: Client): Promise<Works> {
  const codes: string[] = []
  const granted = async (scope: string) => client.exchange(await client.authorize(scope))
  const [first] = await inParallel(1, () => granted('openid profile email offline_access'))
  const withId = await inParallel(SESSIONS, () => granted('openid offline_access'))
  const without = await inParallel(SESSIONS, () => granted('profile offline_access'))
  const logins: string[] = []
  while (logins.length < SESSIONS) logins.push((await signIn(server, ADMIN)).refreshToken)

  const rotating = (tokens: string[], refresh: (token: string) => Promise<string>) => async () => {
    await inParallel(SESSIONS, async (index) => {
      for (let count = 0; count < REQUESTS / SESSIONS; count++)
        tokens[index] = await refresh(tokens[index] ?? '')
    })
  }
  const refreshClient = async (token: string) => (await client.refresh(token)).refresh_token
  const times = (work: () => Promise<unknown>) => async () => {
    await inParallel(SESSIONS, async () => {
      for (let count = 0; count < REQUESTS / SESSIONS; count++) await work()
    })
  }
  const tokensIn = (given: { refresh_token: string }[]) => given.map((one) => one.refresh_token)
  return {
    authorize: times(async () => codes.push(await client.authorize())),
    exchange: times(() => client.exchange(codes.pop() ?? '')),
    refresh: rotating(tokensIn(without), refreshClient),
    'refresh with ID token': rotating(tokensIn(withId), refreshClient),
    'login refresh': rotating(logins, async (token) => {
      return (await refreshLogin(server, token)).refreshToken
    }),
    userinfo: times(() => client.userInfo(first?.access_token ?? '')),
    me: times(() => client.me()),
  }
}

/** The CPU time of a request of each kind, in milliseconds; all take turns. */
export async function cpuOf(server: BenchServer, works: Works): Promise<Record<string, number>> {
  const spent: Record<string, number> = {}
  for (let round = -1; round < ROUNDS; round++)
    for (const [name, work] of Object.entries(works)) {
      const before = server.cpuMs()
      await work()
      const cost = (server.cpuMs() - before) / REQUESTS / ROUNDS
      // The first round warms up.
      if (round >= 0) spent[name] = (spent[name] ?? 0) + cost
    }
  return spent
}

async function inParallel<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
}

async function signaturesMs(): Promise<number> {
  const program = join(import.meta.dirname, '../baselines/signatures.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, String(REQUESTS * 4)])
  return Number(stdout)
}
