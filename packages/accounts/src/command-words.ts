/** Words that cannot be carried out; the message says which ones can. */
export class UsageError extends Error {}

const USER_USAGE = `Usage:
  user create <username> <email> [--admin]   prints a first password
  user enable <username>
  user disable <username>                    ends all sessions at once
  user roles <username> <role> [<role>]      ROLE_USER, ROLE_ADMIN: these and no others
  user reset-password <username>             prints a new password, ends all sessions`

type Operands = { least: number; most: number }

const ONE: Operands = { least: 1, most: 1 }
const OPERANDS: Record<string, Operands> = {
  create: { least: 2, most: 2 },
  enable: ONE,
  disable: ONE,
  roles: { least: 2, most: Number.POSITIVE_INFINITY },
  'reset-password': ONE,
}

/** A word that is not understood is never passed over: it may be a misspelt `--admin`. */
export function readWords(words: string[]) {
  const flags = words.filter((word) => word.startsWith('--'))
  const [command = '', ...operands] = words.filter((word) => !flags.includes(word))
  const { least, most } = OPERANDS[command] ?? { least: 1, most: 0 }
  const allowed = command === 'create' ? ['--admin'] : []
  const understood =
    flags.every((flag) => allowed.includes(flag)) &&
    operands.every((word) => word !== '') &&
    operands.length >= least &&
    operands.length <= most
  if (!understood) throw new UsageError(USER_USAGE)
  const [username = '', ...rest] = operands
  return { admin: flags.length > 0, command, username, rest }
}
