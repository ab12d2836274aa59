import { isLocalAddress } from '@plinth/kit/runtime'
import type { Finding, Installation } from '../finding.ts'
import type { Reading } from './read-database.ts'

type Prepared = Installation['prepared'][number]

/** Administrators whom no mail reaches: earlier versions created the first one at `localhost`. */
export async function administratorFindings(
  { production }: Installation,
  { entry }: Prepared,
  reading: Reading,
): Promise<Finding[]> {
  if (!production || entry.name !== 'identity') return []
  const administrators = await reading
    .rows('select username, email from users where admin = 1 and enabled = 1 order by id')
    // The service has never been started on this database.
    .catch(() => [])
  return administrators
    .filter(({ email = '' }) => isLocalAddress(email))
    .map(({ username, email }) => ({
      check: 'administrators',
      status: 'warn',
      seen: `the address of the administrator ${username} is ${email}`,
      expected: 'an address that mail reaches',
      why: 'in production no mail goes to this machine: no password reset, and no warning',
      fix: `sign in as ${username} and change the address on the account page`,
    }))
}
