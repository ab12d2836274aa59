import { Agent, request } from 'node:http'
import { json } from 'node:stream/consumers'

type Pair = { refreshToken: string }

/** Sessions that are refreshed again and again, each with the token of its last refresh. */
export async function refreshesPerSecond(
  url: string,
  tokens: string[],
  seconds: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const started = performance.now()
  let count = 0
  const refreshAgain = async (first: string) => {
    let refreshToken = first
    while (performance.now() - started < seconds * 1000) {
      refreshToken = await refresh(`${url}/api/auth/refresh`, agent, refreshToken)
      count += 1
    }
    return refreshToken
  }
  tokens.splice(0, tokens.length, ...(await Promise.all(tokens.map(refreshAgain))))
  agent.destroy()
  return count / ((performance.now() - started) / 1000)
}

async function refresh(url: string, agent: Agent, refreshToken: string): Promise<string> {
  const body = JSON.stringify({ refreshToken })
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  request(url, { method: 'POST', agent, headers }, async (response) => {
    const pair = (await json(response)) as Pair
    if (response.statusCode === 200) resolve(pair.refreshToken)
    else reject(new Error(`A refresh was answered ${response.statusCode}`))
  })
    .on('error', reject)
    .end(body)
  return promise
}
