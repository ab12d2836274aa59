import { percentiles } from '../harness/latency.ts'
import type { BenchServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { type Client, refreshLogin, signIn } from './client.ts'
import { ADMIN, logIn } from './service.ts'

const ROUNDS = Math.max(3, Math.round(SECONDS * 4))
const WARM_UP = 8
const AT_ONCE = 16
const LOGINS = 1
const EACH = 8

/** Does its requests, and returns the CPU time of one in milliseconds. */
type Work = () => Promise<number>

/** The requests of a client and of its user, measured by the CPU time of the service. */
export async function requestsOf(server: BenchServer, client: Client) {
  const codes: string[] = []
  const granted = async (scope: string) => client.exchange(await client.authorize(scope))
  const { access_token } = await granted('openid profile email offline_access')
  const withId = await tokensOf(() => granted('openid offline_access'))
  const withoutId = await tokensOf(() => granted('profile offline_access'))
  const own: string[] = []
  while (own.length < AT_ONCE) own.push((await signIn(server, ADMIN)).refreshToken)

  const times = (count: number, work: (index: number) => Promise<unknown>): Work => {
    const repeat = async (index: number) => {
      for (let done = 0; done < count; done++) await work(index)
    }
    return async () => {
      const before = server.cpuMs()
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => repeat(index)))
      return (server.cpuMs() - before) / count / AT_ONCE
    }
  }
  const rotating = (tokens: string[], refresh: (token: string) => Promise<string>) =>
    times(EACH, async (index) => {
      tokens[index] = await refresh(tokens[index] ?? '')
    })
  const refreshClient = async (token: string) => (await client.refresh(token)).refresh_token
  const refreshOwn = async (token: string) => (await refreshLogin(server, token)).refreshToken
  return {
    login: times(LOGINS, async () => (await logIn(server, ADMIN)).arrayBuffer()),
    me: times(EACH, () => client.me()),
    authorize: times(EACH, async () => codes.push(await client.authorize())),
    exchange: times(EACH, () => client.exchange(codes.pop() ?? '')),
    refresh: rotating(withoutId, refreshClient),
    refreshWithId: rotating(withId, refreshClient),
    ownRefresh: rotating(own, refreshOwn),
    userInfo: times(EACH, () => client.userInfo(access_token)),
  }
}

async function tokensOf(grant: () => Promise<{ refresh_token: string }>): Promise<string[]> {
  const given = await Promise.all(Array.from({ length: AT_ONCE }, grant))
  return given.map(({ refresh_token }) => refresh_token)
}

/** The median of each, over rounds in which they take turns. */
export async function inTurns<Name extends string>(
  works: Record<Name, Work>,
): Promise<Record<Name, number>> {
  const names = Object.keys(works) as Name[]
  const taken = new Map(names.map((name): [Name, number[]] => [name, []]))
  for (let round = -WARM_UP; round < ROUNDS; round++)
    for (const name of names) {
      const ms = await works[name]()
      if (round >= 0) taken.get(name)?.push(ms)
    }
  const medians = names.map((name) => [name, percentiles(taken.get(name) ?? []).p50Ms])
  return Object.fromEntries(medians) as Record<Name, number>
}
