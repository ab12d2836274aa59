import { createPrivateKey, type KeyObject } from 'node:crypto'
import { isLoopback, type Settings } from '@plinth/kit/runtime'

export const PROVIDER_TYPES = ['oidc', 'google', 'microsoft', 'apple', 'github'] as const

export type ProviderType = (typeof PROVIDER_TYPES)[number]

export type ProviderSettings = {
  /** In addresses and in the names of its settings. */
  id: string
  type: ProviderType
  name: string
  /** For GitHub, which has no issuer, the address of the site. */
  issuer: string
  clientId: string
  clientSecret: string
  /** Apple's secrets are tokens that we sign. */
  appleKey: AppleKey | undefined
  scopes: string
  /** Whether an account with the same verified address is linked without asking. */
  linkByEmail: boolean
  /** Whether people may create accounts with it. */
  signUp: boolean
}

export type AppleKey = { teamId: string; keyId: string; privateKey: KeyObject }

const NAMES: Record<ProviderType, string | undefined> = {
  oidc: undefined,
  google: 'Google',
  microsoft: 'Microsoft',
  apple: 'Apple',
  github: 'GitHub',
}

const SCOPES: Record<ProviderType, string> = {
  oidc: 'openid profile email',
  google: 'openid profile email',
  microsoft: 'openid profile email',
  apple: 'openid name email',
  github: 'read:user user:email',
}

const MICROSOFT = 'https://login.microsoftonline.com'

const PROVIDER_ID = /^[a-z][a-z0-9-]{0,29}$/

export function providerSettings(settings: Settings): ProviderSettings[] {
  const setting = 'IDENTITY_PROVIDERS'
  const ids = settings.list(setting, [])
  if (!ids.every((id) => PROVIDER_ID.test(id)) || new Set(ids).size !== ids.length)
    settings.fault(
      setting,
      'Expected different names of lower-case letters, digits and dashes.',
      'google,github',
    )
  return ids.filter((id) => PROVIDER_ID.test(id)).map((id) => oneProvider(settings, id))
}

/** `IDENTITY_PROVIDER_MY_COMPANY_` for the provider `my-company`. */
export function settingsPrefix(id: string): string {
  return `IDENTITY_PROVIDER_${id.toUpperCase().replaceAll('-', '_')}_`
}

function oneProvider(settings: Settings, id: string): ProviderSettings {
  const prefix = settingsPrefix(id)
  const isPreset = PROVIDER_TYPES.some((type) => type === id)
  const type = settings.choice(`${prefix}TYPE`, PROVIDER_TYPES, isPreset ? typeOf(id) : 'oidc')
  const example = 'from the page of the provider'
  return {
    id,
    type,
    name: settings.text(`${prefix}NAME`, NAMES[type] ?? id),
    issuer: issuerOf(settings, prefix, type),
    clientId: settings.required(`${prefix}CLIENT_ID`, example),
    clientSecret: type === 'apple' ? '' : settings.required(`${prefix}CLIENT_SECRET`, example),
    appleKey: type === 'apple' ? appleKey(settings, prefix) : undefined,
    scopes: settings.text(`${prefix}SCOPES`, SCOPES[type]),
    linkByEmail: settings.flag(`${prefix}LINK_BY_EMAIL`, false),
    signUp: settings.flag(`${prefix}SIGN_UP`, true),
  }
}

function typeOf(id: string): ProviderType {
  return PROVIDER_TYPES.find((type) => type === id) ?? 'oidc'
}

function issuerOf(settings: Settings, prefix: string, type: ProviderType): string {
  if (type === 'github') return trusted(settings, `${prefix}URL`, 'https://github.com')
  const name = `${prefix}ISSUER`
  if (type === 'google') return trusted(settings, name, 'https://accounts.google.com')
  if (type === 'apple') return trusted(settings, name, 'https://appleid.apple.com')
  if (type === 'microsoft') {
    const tenant = settings.text(`${prefix}TENANT`, 'common')
    return trusted(settings, name, `${MICROSOFT}/${encodeURIComponent(tenant)}/v2.0`)
  }
  if (settings.optional(name) === undefined) {
    settings.required(name, 'https://sign-in.example')
    return 'https://sign-in.example'
  }
  return trusted(settings, name, 'https://sign-in.example')
}

/** An issuer is used as written, because tokens name it so. Plain http is for tests on this machine. */
function trusted(settings: Settings, name: string, fallback: string): string {
  const address = settings.address(name, fallback)
  const { protocol, hostname, username, search, hash } = new URL(address)
  const isPlain = protocol === 'http:' && (settings.production || !isLoopback(hostname))
  if (isPlain || username !== '' || search !== '' || hash !== '')
    settings.fault(name, 'Expected an address that starts with https://.', fallback)
  return address
}

function appleKey(settings: Settings, prefix: string): AppleKey | undefined {
  const teamId = settings.required(`${prefix}TEAM_ID`, 'ABCDE12345')
  const keyId = settings.required(`${prefix}KEY_ID`, 'ABC123DEFG')
  const name = `${prefix}PRIVATE_KEY`
  const example = '"-----BEGIN PRIVATE KEY-----\\n…"'
  // Files of settings have no lines, so line breaks are often written as \n.
  const text = settings.required(name, example).replaceAll('\\n', '\n')
  if (text === '') return undefined
  try {
    const privateKey = createPrivateKey(text)
    if (privateKey.asymmetricKeyDetails?.namedCurve === 'prime256v1')
      return { teamId, keyId, privateKey }
  } catch {
    // Reported below.
  }
  settings.fault(name, 'Expected the .p8 file that Apple issued.', example)
  return undefined
}
