import { validationFailed } from '@plinth/kit/problems'
import type { Accounts } from '../accounts.ts'
import { normalName } from '../database/names.ts'

/** Refuses the passwords an attacker would try first. */
export async function refuseGuessable(
  { blockedPasswords }: Accounts,
  { username, email }: { username: string; email: string },
  password: string,
  field = 'password',
): Promise<void> {
  const names = [username, email, email.slice(0, email.lastIndexOf('@'))]
  const typed = password.normalize('NFKC')
  if (names.some((name) => normalName(name.normalize('NFKC')) === normalName(typed)))
    throw validationFailed([`${field}: must not be the username or the e-mail address`])
  if (await blockedPasswords.has(password))
    throw validationFailed([`${field}: is one that everybody tries first`])
}
