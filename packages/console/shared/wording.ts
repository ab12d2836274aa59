const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB']

export function sizeText(bytes: number): string {
  if (bytes === 1) return '1 byte'
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log(bytes) / Math.log(1024)))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1).replace('.0', '')} ${UNITS[power]}`
}

/** The bytes that a typed size such as `1.5 GB` or `2048` means; NaN for other text. */
export function bytesOf(text: string): number {
  const [, amount = '', unit = ''] =
    /^\s*(\d+(?:[.,]\d+)?)\s*([kmgt]?)(?:i?b|bytes?)?\s*$/i.exec(text) ?? []
  if (amount === '') return Number.NaN
  const power = ' kmgt'.indexOf(unit.toLowerCase() || ' ')
  return Math.round(Number(amount.replace(',', '.')) * 1024 ** power)
}

/**
 * Writes the characters that change the direction of a text as escapes: unseen in the name of a file, they
 * make `\u202egpj.exe` look like `exe.jpg`.
 */
export function visible(text: string): string {
  return text.replaceAll(
    /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16)}`,
  )
}

/** Only the time for today, otherwise day and time. */
export function dateText(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  const date = new Date(value)
  const today = new Date()
  if (date.toDateString() === today.toDateString()) return date.toLocaleTimeString()
  const year = date.getFullYear() === today.getFullYear() ? undefined : 'numeric'
  const format = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const
  return date.toLocaleString(undefined, { ...format, year })
}

/** Date and time to the second. */
export function momentText(milliseconds: number): string {
  const date = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const
  return `${new Date(milliseconds).toLocaleDateString(undefined, date)}, ${new Date(milliseconds).toLocaleTimeString()}`
}

/** `14:32` under an hour, `13 d 23 h` above a day. */
export function remainingText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  if (hours >= 1) return `${hours} h ${minutes % 60} min`
  return `${minutes}:${String(seconds % 60).padStart(2, '0')}`
}

/** Keeps the beginning and the end, which people compare. */
export function shortId(id: string): string {
  return id.length > 20 ? `${id.slice(0, 12)}…${id.slice(-4)}` : id
}

/** Shortens the provider's ids in a sentence. */
export function withShortIds(sentence: string): string {
  return sentence.replace(/\b([a-z]+_(?:test_)?\w{6})\w{8,}/g, '$1…')
}

// The provider's decimals, which can differ from the locale's: to the provider 10000 HUF are 100 forints.
const NO_DECIMALS = 'bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf'.split(' ')
const THREE_DECIMALS = 'bhd jod kwd omr tnd'.split(' ')

/** An amount in minor units as people write it. */
export function moneyText(minorUnits: number, currency: string): string {
  const decimals = decimalsOf(currency.toLowerCase())
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  try {
    const format = new Intl.NumberFormat(undefined, { style: 'currency', currency, ...digits })
    return format.format(minorUnits / 10 ** decimals)
  } catch {
    return `${minorUnits} ${currency}`
  }
}

/** Converts a typed amount, such as `49.00` or `49,5`, to minor units; undefined for other text. */
export function minorUnitsOf(text: string, currency: string): number | undefined {
  const decimals = decimalsOf(currency.toLowerCase())
  const [, whole = '', part = ''] = /^\s*(\d{1,12})(?:[.,](\d+))?\s*$/.exec(text) ?? []
  if (whole === '' || part.length > decimals) return undefined
  return Number(whole + part.padEnd(decimals, '0'))
}

/** An amount in minor units as it is typed: `49.00`. */
export function typedAmount(minorUnits: number, currency: string): string {
  const decimals = decimalsOf(currency.toLowerCase())
  return (minorUnits / 10 ** decimals).toFixed(decimals)
}

function decimalsOf(currency: string): number {
  if (NO_DECIMALS.includes(currency)) return 0
  return THREE_DECIMALS.includes(currency) ? 3 : 2
}

export const ADMIN_ROLE = 'ROLE_ADMIN'
export const USER_ROLE = 'ROLE_USER'

const ROLES: Record<string, string> = { [ADMIN_ROLE]: 'administrator', [USER_ROLE]: 'user' }

/** One word for each role wherever people read it. An operator's own role is shown unchanged. */
export function roleText(role: string): string {
  return ROLES[role] ?? role
}
