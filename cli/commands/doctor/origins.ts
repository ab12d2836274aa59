import type { IdentityConfig } from '@plinth/identity'
import { isLoopback } from '@plinth/kit'
import type { Prepared } from '../../../launcher/stack/prepare.ts'
import { type Check, configOf, type Finding, ok, type Patient, prefixOf } from './finding.ts'

/** Who signs tokens, and who is believed: two spellings of one address do not match. */
const origins: Check = async (patient) => {
  const { prepared } = patient
  const identity = prepared.find(({ entry }) => entry.name === 'identity')
  const issuer = identity && configOf(identity).accounts?.issuer
  const wrong = prepared.flatMap((each): Finding[] => {
    const { trustedIssuer, issuer: required } = configOf(each)
    const believed = trustedIssuer?.issuer ?? required?.issuer
    if (believed === undefined || issuer === undefined || believed === issuer) return []
    const name =
      each.entry.name === 'payments' ? 'PAYMENTS_REQUIRE_ISSUER' : 'STORAGE_FULL_TRUSTED_ISSUER'
    return [
      {
        check: 'origins',
        status: 'warn',
        seen: `${each.entry.name} trusts ${believed}, and identity here signs as ${issuer}`,
        expected: 'the same address, letter for letter',
        why: 'tokens of identity are refused with 401',
        fix: `${name}=${issuer} in .env`,
      },
    ]
  })
  const found = [...wrong, ...passkeyFindings(identity), ...originFindings(patient)]
  return found.length > 0
    ? found
    : [ok('origins', 'issuer, passkey domain and origins fit the addresses')]
}

/** The origins are checked at every start against the domain; whether users are there is not. */
function passkeyFindings(identity: Prepared | undefined): Finding[] {
  const { publicUrl, relyingParty } = (identity?.service.config ?? {}) as Partial<IdentityConfig>
  if (!publicUrl || !relyingParty) return []
  const { origin, hostname } = new URL(publicUrl)
  if (relyingParty.origins.includes(origin)) return []
  return [
    {
      check: 'origins',
      status: 'warn',
      seen: `passkeys are for ${relyingParty.origins.join(', ')}, and identity is at ${origin}`,
      expected: 'the address of identity among them',
      why: 'browsers and identity refuse passkeys there',
      fix: `add ${origin} to IDENTITY_PASSKEY_ORIGINS in .env; IDENTITY_PASSKEY_RP_ID must be ${hostname} or end it`,
    },
  ]
}

/** An origin of a developer, which every program on the machine of a user can have. */
function originFindings({ prepared, production }: Patient): Finding[] {
  if (!production) return []
  return prepared.flatMap((each): Finding[] => {
    const local = configOf(each).corsOrigins.find((origin) => isLoopback(new URL(origin).hostname))
    if (local === undefined) return []
    const setting = `${prefixOf(each)}CORS_ORIGINS`
    return [
      {
        check: 'origins',
        status: 'warn',
        seen: `${setting} has ${local}, in production`,
        expected: 'the addresses of your pages alone',
        why: 'a page of any program on the machine of a user may call',
        fix: `remove ${local} from ${setting} in .env`,
      },
    ]
  })
}

export const originChecks: Check[] = [origins]
