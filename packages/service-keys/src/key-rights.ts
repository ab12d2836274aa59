import { isIP } from 'node:net'
import { faultsOf, positiveInteger, Type } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { isNetworkWithin } from '@plinth/kit/runtime'
import type { Static } from 'typebox'
import { insufficientScope } from './problems.ts'
import type { ServiceKey } from './service-keys.repository.ts'

/** `known` are the scopes of the service. */
export function keyBody(known: readonly string[]) {
  const members = {
    name: Type.String({
      pattern: '^(?=.*\\S)[^\\p{Cc}\\p{Cs}]*$',
      message: 'must not be blank or contain control characters',
      maxLength: 100,
      examples: ['shop'],
    }),
    scopes: Type.Array(Type.String({ maxLength: 50, examples: known.slice(0, 1) }), {
      minItems: 1,
      maxItems: 20,
    }),
    allowedCidrs: Type.Optional(
      Type.Array(Type.String({ maxLength: 50, examples: ['192.0.2.0/24'] }), { maxItems: 20 }),
    ),
    lifetimeDays: Type.Optional(positiveInteger(3650)),
  }
  const examples = [{ name: 'shop', scopes: known.slice(0, 1), lifetimeDays: 90 }]
  return Type.Object(members, { ...NO_OTHERS, examples })
}

/** Elsewhere unknown members are ignored; here a misspelt limit would make a key without it. */
export const NO_OTHERS = { additionalProperties: false }

export type KeyRequest = Static<ReturnType<typeof keyBody>>

/** For a caller without a route: the rules and messages of the body of `POST /api/service-keys`. */
export function requireKeyRequest(known: readonly string[], request: KeyRequest): void {
  const faults = faultsOf(keyBody(known), request)
  if (faults.length > 0) throw validationFailed(faults)
}

type Rights = Pick<ServiceKey, 'scopes' | 'allowedCidrs'>

/** A key that creates or rotates others. */
export type MakerKey = Rights

/** What a new key may do, and from where; a key created by another may do no more than its creator. */
export function rightsIn(
  { scopes, allowedCidrs = [] }: Pick<KeyRequest, 'scopes' | 'allowedCidrs'>,
  known: readonly string[],
  maker?: MakerKey,
): Rights {
  const faults = [
    ...scopes
      .filter((scope) => !known.includes(scope))
      .map((scope) => `scopes: ${scope}: this service has ${known.join(', ')}`),
    ...allowedCidrs
      .filter((text) => !isCidr(text))
      .map((text) => `allowedCidrs: ${text}: not a network`),
  ]
  if (faults.length > 0) throw validationFailed(faults)
  const inherited = allowedCidrs.length === 0 ? maker?.allowedCidrs : undefined
  const rights = { scopes: [...new Set(scopes)], allowedCidrs: inherited ?? allowedCidrs }
  if (maker) requireWithin(rights, maker)
  return rights
}

/** Otherwise a key could grant itself rights that it was not given. */
export function requireWithin({ scopes, allowedCidrs }: Rights, maker: MakerKey): void {
  const missing = scopes.filter((scope) => !maker.scopes.includes(scope))
  if (missing.length > 0) throw insufficientScope(missing.join(' '))
  if (maker.allowedCidrs.length === 0) return
  const isInside = (text: string) =>
    maker.allowedCidrs.some((outer) => isNetworkWithin(text, outer))
  if (allowedCidrs.length === 0 || !allowedCidrs.every(isInside))
    throw validationFailed([
      `allowedCidrs: the key that makes this one is limited to ${maker.allowedCidrs.join(', ')}`,
    ])
}

function isCidr(text: string): boolean {
  const [address = '', bits = '0', ...rest] = text.split('/')
  const width = { 4: 32, 6: 128 }[isIP(address)] ?? -1
  return rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= width
}
