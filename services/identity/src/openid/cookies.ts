import type { NewCookie } from './browser-sessions.ts'

/** Browsers accept a name with this prefix only from this host, over https: a neighbour cannot set it. */
const HOST_PREFIX = '__Host-'
const NAME = 'plinth-sso'

type Rules = { publicUrl: string }

function isSecure({ publicUrl }: Rules): boolean {
  return publicUrl.startsWith('https:')
}

function nameOf(rules: Rules): string {
  return isSecure(rules) ? HOST_PREFIX + NAME : NAME
}

/** Two cookies of that name are none: one of them was set by somebody else. */
export function cookieIn(header: string | undefined, rules: Rules): string | undefined {
  const prefix = `${nameOf(rules)}=`
  const found = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length))
  const [value] = found
  return found.length === 1 && value !== undefined && /^[\w-]{20,100}$/.test(value)
    ? value
    : undefined
}

export function endedCookie(rules: Rules): string {
  return cookieHeader({ value: '', seconds: 0 }, rules)
}

/** Lax: a client sends the browser here from another site. */
export function cookieHeader({ value, seconds }: NewCookie, rules: Rules): string {
  const parts = [`${nameOf(rules)}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax']
  if (isSecure(rules)) parts.push('Secure')
  if (seconds !== undefined) parts.push(`Max-Age=${seconds}`)
  return parts.join('; ')
}
