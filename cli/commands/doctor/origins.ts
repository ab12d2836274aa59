import { type Finding, isLoopback, ok } from '@plinth/kit/runtime'
import { prefixOf } from '../../../launcher/services.ts'
import { type Check, type Installation, unknown } from './installation.ts'

/** The issuer that signs tokens and the one that services trust must be spelt exactly alike. */
const origins: Check = async (installation) => {
  const { prepared, suite } = installation
  if (!suite) return [unknown('origins')]
  const signing = prepared.find(({ service }) => service.issuer !== undefined)
  const issuer = signing?.service.issuer
  const wrong = prepared.flatMap(({ entry, service }): Finding[] => {
    const trusted = service.trustedIssuer
    if (!trusted || !signing || trusted.issuer === issuer) return []
    return [
      {
        check: 'origins',
        status: 'warn',
        seen: `${entry.name} trusts ${trusted.issuer}, but ${signing.entry.name} here signs as ${issuer}`,
        expected: 'exactly the same address',
        why: `tokens from ${signing.entry.name} are refused with 401`,
        fix: `${trusted.setting}=${issuer} in .env`,
      },
    ]
  })
  const found = [...wrong, ...originFindings(installation)]
  return found.length > 0 ? found : [ok('origins', 'issuers and origins match the addresses')]
}

/** A localhost origin, which any program on a user's machine can serve pages from. */
function originFindings({ prepared, production }: Installation): Finding[] {
  if (!production) return []
  return prepared.flatMap((each): Finding[] => {
    const local = each.service.config.corsOrigins.find((origin) =>
      isLoopback(new URL(origin).hostname),
    )
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
