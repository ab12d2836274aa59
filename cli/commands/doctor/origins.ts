import type { IdentityConfig } from '@plinth/identity'
import { isLoopback } from '@plinth/kit/runtime'
import { prefixOf } from '../../../launcher/services.ts'
import type { Prepared } from '../../../launcher/stack/prepare.ts'
import { type Check, configOf, type Finding, type Installation, ok, unknown } from './finding.ts'

/** The issuer that signs tokens and the one that services trust must be spelt exactly alike. */
const origins: Check = async (installation) => {
  const { prepared, suite } = installation
  if (!suite) return [unknown('origins')]
  const identity = prepared.find(({ entry }) => entry.name === 'identity')
  const issuer = identity && configOf(identity).accounts?.issuer
  const wrong = prepared.flatMap((each): Finding[] => {
    const { trustedIssuer, issuer: required } = configOf(each)
    const trusted = trustedIssuer?.issuer ?? required?.issuer
    if (trusted === undefined || issuer === undefined || trusted === issuer) return []
    const name =
      each.entry.name === 'payments' ? 'PAYMENTS_REQUIRE_ISSUER' : 'STORAGE_FULL_TRUSTED_ISSUER'
    return [
      {
        check: 'origins',
        status: 'warn',
        seen: `${each.entry.name} trusts ${trusted}, but identity here signs as ${issuer}`,
        expected: 'exactly the same address',
        why: 'tokens from identity are refused with 401',
        fix: `${name}=${issuer} in .env`,
      },
    ]
  })
  const found = [...wrong, ...passkeyFindings(identity), ...originFindings(installation)]
  return found.length > 0
    ? found
    : [ok('origins', 'issuer, passkey domain and origins match the addresses')]
}

/** Every start checks the origins against the domain, but not whether they include identity's own address. */
function passkeyFindings(identity: Prepared | undefined): Finding[] {
  const { publicUrl, relyingParty } = (identity?.service.config ?? {}) as Partial<IdentityConfig>
  if (!publicUrl || !relyingParty) return []
  const { origin, hostname } = new URL(publicUrl)
  if (relyingParty.origins.includes(origin)) return []
  return [
    {
      check: 'origins',
      status: 'warn',
      seen: `passkeys are for ${relyingParty.origins.join(', ')}, but identity is at ${origin}`,
      expected: 'the address of identity among them',
      why: 'browsers and identity refuse passkeys there',
      fix: `add ${origin} to IDENTITY_PASSKEY_ORIGINS in .env; IDENTITY_PASSKEY_RP_ID must be ${hostname} or a parent domain of it`,
    },
  ]
}

/** A localhost origin, which any program on a user's machine can serve pages from. */
function originFindings({ prepared, production }: Installation): Finding[] {
  if (!production) return []
  return prepared.flatMap((each): Finding[] => {
    const local = configOf(each).corsOrigins.find((origin) => isLoopback(new URL(origin).hostname))
    if (local === undefined) return []
    const setting = `${prefixOf(each.entry)}CORS_ORIGINS`
    return [
      {
        check: 'origins',
        status: 'warn',
        seen: `${setting} has ${local}, in production`,
        expected: 'only the addresses of your own pages',
        why: "a page served by any program on a user's machine may call the service",
        fix: `remove ${local} from ${setting} in .env`,
      },
    ]
  })
}

export const originChecks: Check[] = [origins]
