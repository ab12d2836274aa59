/** What the settings of an application say about this provider. */
export type SettingsOf = {
  issuer: string
  clientId: string
  /** Public clients have neither secret nor key. */
  authMethod: 'client_secret' | 'private_key_jwt' | 'none'
  requirePkce: boolean
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

/** Frameworks answer at a path of their own; any other address is never reached. */
function reminder(comment: string, path: string, redirectUri: string): string {
  if (redirectUri.endsWith(path)) return ''
  return `${comment} It answers at …${path}: register that address instead of ${redirectUri}\n`
}

const AUTHENTICATION = {
  client_secret: [SECRET, `client.ClientSecretPost(${SECRET})`],
  private_key_jwt: ['undefined', 'client.PrivateKeyJwt(privateKey)'],
  none: ['undefined', 'client.None()'],
}

function openidClient({ issuer, clientId, authMethod, redirectUri, scopes }: SettingsOf): string {
  const given = [
    `new URL(${quoted(issuer)})`,
    quoted(clientId),
    ...AUTHENTICATION[authMethod],
    // It refuses plain HTTP unless it is told to accept it.
    ...(issuer.startsWith('http:') ? ['{ execute: [client.allowInsecureRequests] }'] : []),
  ]
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

function authJs({ issuer, clientId, authMethod, redirectUri, scopes }: SettingsOf): string {
  const secret = {
    client_secret: `clientSecret: ${SECRET},`,
    private_key_jwt: '// It needs a client with a secret.',
    none: "client: { token_endpoint_auth_method: 'none' },",
  }[authMethod]
  return `${reminder('//', '/api/auth/callback/plinth', redirectUri)}import NextAuth from ${quoted('next-auth')}

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

function spring(settings: SettingsOf): string {
  const { issuer, clientId, authMethod, redirectUri, scopes, requirePkce } = settings
  const secret = {
    client_secret: `client-secret: \${CLIENT_SECRET}`,
    private_key_jwt: 'client-authentication-method: private_key_jwt',
    none: 'client-authentication-method: none',
  }[authMethod]
  const pkce =
    requirePkce && authMethod !== 'none'
      ? '# Spring Boot before 4 sends no code challenge unless a bean asks for it (withPkce).\n'
      : ''
  return `${reminder('#', '/login/oauth2/code/plinth', redirectUri)}${pkce}spring:
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
            user-name-attribute: ${scopes.includes('profile') ? 'preferred_username' : 'sub'}`
}

function oauth2Proxy({ issuer, clientId, authMethod, redirectUri, scopes }: SettingsOf): string {
  const secret =
    authMethod === 'client_secret'
      ? 'client_secret_file = "/run/secrets/client"'
      : '# It needs a client with a secret.'
  return `${reminder('#', '/oauth2/callback', redirectUri)}provider = "oidc"
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
