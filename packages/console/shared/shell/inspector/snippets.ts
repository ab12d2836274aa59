import { NAMES, PLACEHOLDER, publicValues } from '../../api/concealment.ts'
import { type Exchange, FORM } from '../../api/exchange-log.ts'

/** The same request for a shell. Secrets are shell variables, so the text can be shared. */
export function curlOf(exchange: Exchange, baseUrl: string): string {
  const parts = [`curl -X ${exchange.method} '${quoted(baseUrl + exchange.path)}'`]
  for (const [name, value] of Object.entries(exchange.requestHeaders))
    parts.push(`-H ${headerArgument(`${name}: ${value}`)}`)
  if (isForm(exchange))
    for (const [name, value] of Object.entries(exchange.requestBody ?? {}))
      parts.push(`--data-urlencode '${quoted(`${name}=${value}`)}'`)
  else if (exchange.requestBody !== undefined)
    parts.push(`-d '${quoted(JSON.stringify(exchange.requestBody))}'`)
  if (exchange.requestFile)
    parts.push(
      `-F 'file=@${fileArgument(exchange.requestFile.name)};type=${exchange.requestFile.type}'`,
    )
  return parts.join(' \\\n  ')
}

/**
 * Prefixes the command with everything it needs. It is a single line to the shell, because `read` would
 * take the next pasted line as its input.
 */
export function runnable(command: string, baseUrl: string, hasAccounts: boolean): string {
  const names = new Set([...command.matchAll(PLACEHOLDER)].map(([, name = '']) => name))
  const steps = [...names].flatMap((name) => settingOf(name, baseUrl, hasAccounts))
  return [...steps, command].join(' && \\\n')
}

const LOGIN = `{"username":"$USERNAME","password":"$PASSWORD"}`

function settingOf(name: string, baseUrl: string, hasAccounts: boolean): string[] {
  const value = publicValues[name]
  if (value !== undefined) return [`${name}='${value}'`]
  if (name === 'ACCESS_TOKEN' && hasAccounts)
    return [
      ...settingOf('USERNAME', baseUrl, false),
      ...settingOf('PASSWORD', baseUrl, false),
      `ACCESS_TOKEN=$(curl -s '${baseUrl}/api/auth/login' -H 'Content-Type: application/json' \\\n  -d "${LOGIN.replaceAll('"', '\\"')}" | ${memberOf('accessToken')})`,
    ]
  if (name === 'CSRF_TOKEN')
    return [`CSRF_TOKEN=$(curl -s '${baseUrl}/webauthn/csrf' | ${memberOf('token')})`]
  return [`printf '${name}: ' && read -r ${name}`]
}

function memberOf(name: string): string {
  return `sed 's/.*"${name}":"\\([^"]*\\)".*/\\1/'`
}

/** The same request for a program, with the placeholders as variables. */
export function fetchOf(exchange: Exchange, baseUrl: string): string {
  const options = [`  method: '${exchange.method}',`]
  const headers = Object.entries(exchange.requestHeaders).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${expression(value)},`,
  )
  if (headers.length > 0) options.push('  headers: {', ...headers, '  },')
  if (exchange.requestBody !== undefined) {
    const encoded = isForm(exchange) ? 'new URLSearchParams' : 'JSON.stringify'
    options.push(`  body: ${encoded}(${objectLiteral(exchange.requestBody)}),`)
  }
  if (exchange.requestFile) options.push('  body: form,')
  const form = exchange.requestFile ? formOf(exchange.requestFile) : ''
  const names = new Set([...options.join().matchAll(VARIABLE)].map(([, name]) => name))
  const unset = [...names].map((name) => `const ${name} = '…'\n`).join('')
  return `${form && IMPORT}${unset}${form}await fetch(${JSON.stringify(baseUrl + exchange.path)}, {\n${options.join('\n')}\n})`
}

const IMPORT = "import { openAsBlob } from 'node:fs'\n\n"

/** Node reads the file from its path. A browser has it from a field and needs neither this line nor the import. */
function formOf({ name, type }: { name: string; type: string }): string {
  const path = JSON.stringify(name)
  return `const file = await openAsBlob(${path}, { type: ${JSON.stringify(type)} })
const form = new FormData()
form.append('file', file, ${path})
`
}

const VARIABLE = new RegExp(`\\b(${NAMES})\\b`, 'g')

function isForm({ requestHeaders }: Exchange): boolean {
  return requestHeaders['Content-Type'] === FORM
}

// A header that ends with a variable is easiest to read in double quotes, where the shell expands it.
function headerArgument(header: string): string {
  return /^[^"`\\]*\$[A-Z_]+$/.test(header) ? `"${header}"` : `'${quoted(header)}'`
}

/** To curl, a semicolon or a comma would end the name. */
function fileArgument(name: string): string {
  const isPlain = !/[;,"\\]/.test(name)
  return quoted(isPlain ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`)
}

function quoted(text: string): string {
  return text.replaceAll("'", "'\\''").replace(PLACEHOLDER, `'"$$$1"'`)
}

function expression(value: string): string {
  return value.includes('$')
    ? `\`${value.replace(PLACEHOLDER, (_, name) => `\${${name}}`)}\``
    : JSON.stringify(value)
}

function objectLiteral(body: unknown): string {
  const text = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')
  return text.replaceAll(/"\$([A-Z_]+)"/g, '$1')
}
