import type { ProviderSettings } from '../settings.ts'
import { authorizationUrl } from './authorization-url.ts'
import { callsTo, ROUND_MS, type Rules } from './calls.ts'
import { type Provider, type ProviderIdentity, Refused, type Round } from './provider.ts'

const library = () => import('oauth4webapi')

const GITHUB = 'https://github.com'

/** GitHub refuses requests without a user agent. */
const HEADERS = { accept: 'application/vnd.github+json', 'user-agent': 'Plinth' }

/** GitHub, and GitHub Enterprise at an address of its own. It has no id tokens: two calls say who it is. */
export function gitHubProvider(settings: ProviderSettings, rules: Rules): Provider {
  const site = settings.issuer.replace(/\/+$/, '')
  const api = site === GITHUB ? 'https://api.github.com' : `${site}/api/v3`
  const gitHub = { settings, rules, site, api, call: callsTo(settings.id, rules) }
  return {
    settings,

    // Its addresses are known.
    ready: async () => {},

    async check() {
      const { status } = await gitHub.call('discovery')(`${api}/meta`, { headers: HEADERS })
      if (status >= 500) throw new Error(`GitHub answered ${status}`)
    },

    authorizationUrl: async (round) =>
      authorizationUrl(`${site}/login/oauth/authorize`, settings, round),

    async identify(answer, round) {
      if (answer.get('error') === 'access_denied') throw new Refused('access_denied')
      const signal = AbortSignal.timeout(ROUND_MS)
      return whoHas(gitHub, await tokenFor(gitHub, answer, round, signal), signal)
    },
  }
}

type GitHub = {
  settings: ProviderSettings
  rules: Rules
  site: string
  api: string
  call: ReturnType<typeof callsTo>
}

/** The library also refuses what GitHub sends when it fails: an error with status 200. */
async function tokenFor(
  { settings, rules, site: issuer, call }: GitHub,
  answer: URLSearchParams,
  { state, verifier, redirectUri }: Round,
  signal: AbortSignal,
): Promise<string> {
  const oauth = await library()
  const { clientId, clientSecret } = settings
  const server = { issuer, token_endpoint: `${issuer}/login/oauth/access_token` }
  const client = { client_id: clientId }
  // It publishes no issuer that an `iss` could be compared with; the callback address is GitHub's alone.
  const known = new URLSearchParams(answer)
  known.delete('iss')
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.ClientSecretPost(clientSecret),
    oauth.validateAuthResponse(server, client, known, state),
    redirectUri,
    verifier,
    {
      [oauth.allowInsecureRequests]: rules.plainHttp,
      [oauth.customFetch]: call('token'),
      signal,
    },
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response)
  return tokens.access_token
}

type Email = { email: string; primary?: unknown; verified?: unknown }

/** The public address of a profile proves nothing. Logins are renamed and reused; the number is not. */
async function whoHas(
  { api, call, site }: GitHub,
  token: string,
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  const headers = { ...HEADERS, authorization: `Bearer ${token}` }
  const ask = async <T>(path: string): Promise<T> => {
    const response = await call('userinfo')(`${api}${path}`, { headers, signal })
    if (response.status !== 200) throw new Error(`GitHub answered ${response.status} at ${path}`)
    return (await response.json()) as T
  }
  const { id } = await ask<{ id?: unknown }>('/user')
  if (!Number.isSafeInteger(id)) throw new Error('GitHub sent no numeric id')
  const emails = await ask<Email[]>('/user/emails')
  const email = emails.find(({ primary, verified }) => primary === true && verified === true)
  const address = { email: email?.email, emailVerified: email !== undefined }
  return { issuer: site, subject: String(id), ...address }
}
