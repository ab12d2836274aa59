import { bytesOf } from '../../shared/account/session/tokens/decoded-token.ts'

const FLAGS: [bit: number, words: string][] = [
  [0x01, 'user was present'],
  [0x04, 'user was verified'],
  [0x08, 'may be backed up'],
  [0x10, 'is backed up'],
]

const KNOWN_MODELS: Record<string, string> = {
  '00000000000000000000000000000000': 'not disclosed (attestation is off)',
  ea9b8d664d011d213ce4b6b48cb575d4: 'Google Password Manager',
  fbfc3007154e4ecc8c0b6e020557d7bd: 'iCloud Keychain',
  '08987058cadc4b81b6e130de50dcbe96': 'Windows Hello',
  bada5566a7aa401fbd9645619a55120d: '1Password',
  d548826e79b4db40a3d811116f7e8349: 'Bitwarden',
}

/** Reads the fixed part of WebAuthn authenticator data: flags, counter and, when new, the model. */
export function readAuthenticatorData(bytes: Uint8Array): Record<string, string> {
  const flags = bytes[32] ?? 0
  const words = FLAGS.filter(([bit]) => flags & bit).map(([, text]) => text)
  const counter = new DataView(bytes.buffer, bytes.byteOffset).getUint32(33)
  const facts = { Flags: words.join(', '), Counter: String(counter) }
  return flags & 0x40 ? { ...facts, Authenticator: modelOf(bytes.slice(37, 53)) } : facts
}

function modelOf(aaguid: Uint8Array): string {
  const id = [...aaguid].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return KNOWN_MODELS[id] ?? id
}

type ClientData = { type: string; origin: string; challenge: string; crossOrigin?: boolean }

export function readClientData(base64url: string): ClientData {
  return JSON.parse(new TextDecoder().decode(bytesOf(base64url)))
}

export function originWords(origin: string): string {
  return origin === location.origin ? `${origin} ✓ this page` : `${origin} ✗ not this page`
}
