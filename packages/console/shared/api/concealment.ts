/** Values that a copied command may contain literally: a demo account, the development key. */
export const publicValues: Record<string, string> = {}

/** The placeholders that the inspector and the snippets show instead of secrets. */
const MEMBERS: Record<string, string> = {
  accessToken: '$ACCESS_TOKEN',
  refreshToken: '$REFRESH_TOKEN',
  token: '$TOKEN',
  password: '$PASSWORD',
  currentPassword: '$PASSWORD',
  newPassword: '$NEW_PASSWORD',
  accessKey: '$ACCESS_KEY',
  secretKey: '$SECRET_KEY',
  secret: '$SECRET',
  secondSecret: '$SECRET',
  clientSecret: '$CLIENT_SECRET',
  mfaToken: '$MFA_TOKEN',
  recoveryCode: '$RECOVERY_CODE',
  recoveryCodes: '$RECOVERY_CODE',
  uri: '$TOTP_URI',
}

const HEADERS: Record<string, string> = {
  authorization: 'Bearer $ACCESS_TOKEN',
  'x-api-key': '$API_KEY',
  'x-xsrf-token': '$CSRF_TOKEN',
}

/** The names of the variables that a copied request may need. */
export const NAMES =
  '(?:[A-Z]+_)*(?:TOKEN|CODE|ID)|(?:NEW_)?PASSWORD|[A-Z]+_KEY|(?:CLIENT_)?SECRET|TOTP_URI|USERNAME|UNIQUE|FILENAME|FOLDER_PATH|VERSION|TICKET|PROVIDER|AUTHORIZATION'

export const PLACEHOLDER = new RegExp(`\\$(${NAMES})`, 'g')

export function concealBody(body: unknown): unknown {
  if (body === undefined) return undefined
  const text = JSON.stringify(body, (name, value) => {
    const isSecret = Array.isArray(value) || (typeof value === 'string' && value !== '')
    // Other addresses of that name, such as the home page of a client, are no secrets.
    if (name === 'uri' && !String(value).startsWith('otpauth:')) return value
    return isSecret ? (MEMBERS[name] ?? value) : value
  })
  return JSON.parse(text)
}

export function concealHeaders(headers: Record<string, string>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    HEADERS[name.toLowerCase()] ?? value,
  ])
  return Object.fromEntries(entries)
}
