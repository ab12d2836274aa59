import { isLoopback, type Settings } from '@plinth/kit/runtime'
import { faultOfResource } from './resources.ts'

type Issuing = { issuer: string; audience: string; publicUrl: string }

/** Which resources every client may ask for, and where the consoles are. */
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
  return { resources, consoles }
}

function isBase(text: string): boolean {
  if (!URL.canParse(text) || /[?#\s*]/.test(text)) return false
  const { protocol, hostname, username } = new URL(text)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
  return username === '' && isSafe
}
