import { type Finding, ok, skip } from '@plinth/kit/runtime'
import type { Prepared } from '../../../../launcher/prepare/prepare.ts'
import { prefixOf } from '../../../../launcher/services.ts'
import { type Check, unknown } from '../installation.ts'

type Read = (sql: string) => Promise<Record<string, string>[]>

/** A sealed value names its key, which reveals the key of another node or installation. */
export async function sealFindings({ entry, service }: Prepared, read: Read): Promise<Finding[]> {
  const { sealsOf } = await import('@plinth/backup')
  const { keys, database } = service.data
  const findings: Finding[] = []
  for (const [setting, key] of Object.entries(keys)) {
    const { foreign } = await sealsOf(read, key, database?.sealed ?? {})
    if (foreign !== undefined)
      findings.push({
        check: 'keys',
        status: 'fail',
        seen: `${entry.name}: ${foreign}`,
        expected: 'the key that the data was sealed with, the same on every node',
        why: 'with another key the service does not start, and no signing key can be used',
        fix: `${setting}_FILE=<the file with the old key> in .env`,
      })
  }
  return findings
}

/** Development conveniences that are switched on in production. */
const conveniences: Check = async ({ production, prepared, suite }) => {
  if (!production) return [skip('keys', 'well-known secrets are allowed: this is not production')]
  if (!suite) return [unknown('keys')]
  const found = prepared.flatMap((each): Finding[] =>
    each.service.conveniences.named.map((named) => ({
      check: 'keys',
      status: 'fail',
      seen: `${each.entry.name}: ${named}, in production`,
      expected: 'secrets that only this installation knows',
      why: 'anyone can read them in the documentation',
      fix: `remove the setting that enables it (${prefixOf(each.entry)}…) from .env`,
    })),
  )
  return found.length > 0 ? found : [ok('keys', 'no well-known secrets')]
}

export const keyChecks: Check[] = [conveniences]
