/** What the settings of an application say about this provider. */
export type SettingsOf = {
  issuer: string
  clientId: string
  /** Public clients have no secret. */
  isPublic: boolean
  redirectUri: string
  scopes: string[]
}

type Kind = { title: string; text(settings: SettingsOf): string }

export const KINDS: Record<string, Kind> = {
  'openid-client': { title: 'openid-client', text: openidClient },
  authjs: { title: 'Auth.js', text: authJs },
  spring: { title: 'Spring Security', text: spring },
  'oauth2-proxy': { title: 'oauth2-proxy', text: oauth2Proxy },
}

/** Written in parts: this console reads no environment itself. */
const SECRET = ['process', 'env', 'CLIENT_SECRET'].join('.')

const quoted = (text: string) => JSON.stringify(text)

function openidClient({ issuer, clientId, isPublic, redirectUri, scopes }: SettingsOf): string {
  const given = [
    `new URL(${quoted(issuer)})`,
    quoted(clientId),
    isPublic ? 'undefined' : SECRET,
    ...(isPublic ? ['client.None()'] : []),
  ]
  // It refuses plain HTTP unless it is told to accept it.
  const plain = [`client.ClientSecretPost(${SECRET})`].slice(isPublic ? 1 : 0)
  if (issuer.startsWith('http:'))
    given.push(...plain, '{ execute: [client.allowInsecureRequests] }')
  return `import * as client from ${quoted('openid-client')}

const config = await client.discovery(
${given.map((one) => `  ${one},`).join('\n')}
)
const codeVerifier = client.randomPKCECodeVerifier()
const redirectTo = client.buildAuthorizationUrl(config, {
  redirect_uri: ${quoted(redirectUri)},
  scope: ${quoted(scopes.join(' '))},
  code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
  code_challenge_method: 'S256',
})`
}

function authJs({ issuer, clientId, isPublic, scopes }: SettingsOf): string {
  const secret = isPublic
    ? "client: { token_endpoint_auth_method: 'none' },"
    : `clientSecret: ${SECRET},`
  return `import NextAuth from ${quoted('next-auth')}

export const { handlers, auth, signIn, signOut } = NextAuth({
  providers: [
    {
      id: 'plinth',
      name: 'Plinth',
      type: 'oidc',
      issuer: ${quoted(issuer)},
      clientId: ${quoted(clientId)},
      ${secret}
      checks: ['pkce', 'state'],
      authorization: { params: { scope: ${quoted(scopes.join(' '))} } },
    },
  ],
})`
}

function spring({ issuer, clientId, isPublic, redirectUri, scopes }: SettingsOf): string {
  const secret = isPublic
    ? 'client-authentication-method: none'
    : `client-secret: \${CLIENT_SECRET}`
  return `spring:
  security:
    oauth2:
      client:
        registration:
          plinth:
            client-id: ${quoted(clientId)}
            ${secret}
            authorization-grant-type: authorization_code
            redirect-uri: ${quoted(redirectUri)}
            scope: ${scopes.join(', ')}
        provider:
          plinth:
            issuer-uri: ${quoted(issuer)}
            user-name-attribute: preferred_username`
}

function oauth2Proxy({ issuer, clientId, isPublic, redirectUri, scopes }: SettingsOf): string {
  const secret = isPublic
    ? '# it needs a client with a secret'
    : 'client_secret_file = "/run/secrets/client"'
  return `provider = "oidc"
oidc_issuer_url = ${quoted(issuer)}
client_id = ${quoted(clientId)}
${secret}
redirect_url = ${quoted(redirectUri)}
scope = ${quoted(scopes.join(' '))}
code_challenge_method = "S256"
oidc_groups_claim = "roles"
email_domains = ["*"]
cookie_secret_file = "/run/secrets/cookie"`
}
