import { faultsOf } from '../http/schema.ts'
import { Problem, validationFailed } from '../problems.ts'
import type { ServiceKey } from './service-keys.repository.ts'
import {
  allServiceKeys,
  createServiceKey,
  type IssuedKey,
  KeyBody,
  revokeServiceKey,
  rotateServiceKey,
  type ServiceKeys,
} from './service-keys.ts'

const REFUSED = 1
const USAGE_ERROR = 64
const OPERATOR = 'command line'
const BY = { actor: OPERATOR, origin: { address: OPERATOR, requestId: null } }
export const keyUsage = (scopes: readonly string[]) => `Usage:
  keys create <name> <scope> [<scope>]   prints the key, once
  keys list
  keys rotate <id> [<overlap seconds>]   prints the new key; the old one ends after the overlap
  keys revoke <id>                       ends a key at once
Scopes: ${scopes.join(', ')}`

/** For operators with access to the machine. Prints the result and returns the exit code. */
export async function runKeyCommand(keys: ServiceKeys, words: string[]): Promise<number> {
  try {
    const result = await perform(keys, words)
    if (result === undefined) {
      console.error(keyUsage(keys.scopes))
      return USAGE_ERROR
    }
    console.log(result)
    return 0
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    console.error([error.message, ...((error.extra.errors as string[]) ?? [])].join('\n'))
    return REFUSED
  }
}

/** Nothing when any word is unknown: none is ignored. */
async function perform(keys: ServiceKeys, words: string[]): Promise<string | undefined> {
  const line = words.join(' ')
  const [command, name = '', ...rest] = words
  if (command === 'create' && rest.length > 0) return create(keys, { name, scopes: rest })
  if (line === 'list') return (await allServiceKeys(keys)).map(lineOf).join('\n') || 'No keys.'
  const rotate = /^rotate ([1-9]\d{0,15})(?: (\d{1,9}))?$/.exec(line)
  if (rotate) {
    const overlapSeconds = rotate[2] === undefined ? undefined : Number(rotate[2])
    return issuedText(await rotateServiceKey(keys, Number(rotate[1]), { overlapSeconds, by: BY }))
  }
  const revoke = /^revoke ([1-9]\d{0,15})$/.exec(line)
  if (!revoke) return undefined
  await revokeServiceKey(keys, Number(revoke[1]), BY)
  return `Key ${revoke[1]} is revoked.`
}

/** By the rules of `POST /api/service-keys`, with the same messages. */
async function create(keys: ServiceKeys, request: { name: string; scopes: string[] }) {
  const faults = faultsOf(KeyBody, request)
  if (faults.length > 0) throw validationFailed(faults)
  return issuedText(await createServiceKey(keys, request, BY))
}

function issuedText({ key, secret }: IssuedKey): string {
  return `${secret}\nKey ${key.id}, ${key.name}: ${key.scopes.join(', ')}. It is not shown again.`
}

function lineOf(key: ServiceKey): string {
  const state = key.revokedAt ? 'revoked' : `until ${key.expiresAt.toISOString()}`
  return [key.id, `${key.start}…`, key.name, key.scopes.join(','), state].join('\t')
}
