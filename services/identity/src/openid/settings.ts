import { isLoopback, type Settings } from '@plinth/kit/runtime'
import { faultOfResource } from './resources.ts'

type Issuing = { issuer: string; audience: string; publicUrl: string }

/** Which resources every client may ask for, where the consoles are, and which clients need no administrator. */
export function openIdSettings(settings: Settings, { issuer, audience, publicUrl }: Issuing) {
  if (issuer === audience)
    settings.fault(
      'IDENTITY_TOKEN_AUDIENCE',
      'Expected another value than that of the issuer: tokens of other applications are meant for the issuer.',
      'plinth',
    )
  const resources = settings.list('IDENTITY_RESOURCES', [])
  if (resources.some((one) => faultOfResource(one, { issuer, audience }) !== undefined))
    settings.fault(
      'IDENTITY_RESOURCES',
      'Expected addresses that are neither the issuer nor the audience.',
      'https://api.example',
    )
  // Without TLS, other machines get no console that signs in here.
  const consoles = settings.list('IDENTITY_CONSOLES', [publicUrl].filter(isBase))
  if (!consoles.every(isBase))
    settings.fault(
      'IDENTITY_CONSOLES',
      'Expected the addresses of services with a console: https, or http on this machine.',
      'https://id.example',
    )
  const documents = documentSetting(settings)
  const registration = settings.flag('IDENTITY_CLIENT_REGISTRATION', false)
  // An attacker who gets a user to type a code gets a token of that user, so production has to ask for it.
  const commandLogin = settings.flag('IDENTITY_COMMAND_LOGIN', !settings.production)
  return { resources, consoles, documents, registration, commandLogin }
}

const HOST = /^([a-z0-9-]+(\.[a-z0-9-]+)*|\[[0-9a-f:]+\])(:\d{1,5})?$/

/** Off, on, or the hosts whose documents are accepted. */
function documentSetting(settings: Settings): 'off' | 'on' | string[] {
  const setting = 'IDENTITY_CLIENT_DOCUMENTS'
  const given = settings.list(setting, ['off']).map((one) => one.toLowerCase())
  const [first] = given
  if (given.length === 1 && (first === 'off' || first === 'on')) return first
  const isHosts = given.every((one) => HOST.test(one) && one !== 'off' && one !== 'on')
  if (!isHosts || given.length === 0)
    settings.fault(setting, 'Expected off, on, or hosts separated by commas.', 'clients.example')
  return given
}

function isBase(text: string): boolean {
  if (!URL.canParse(text) || /[?#\s*]/.test(text)) return false
  const { protocol, hostname, username } = new URL(text)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
  return username === '' && isSafe
}
