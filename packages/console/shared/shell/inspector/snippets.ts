import { NAMES, PLACEHOLDER, publicValues } from '../../api/concealment.ts'
import { type Exchange, FORM } from '../../api/exchange-log.ts'

/** The same request for a shell. Secrets are shell variables, so the text can be shared. */
export function curlOf(exchange: Exchange, baseUrl: string): string {
  const method = exchange.method === 'HEAD' ? '--head' : `-X ${exchange.method}`
  const parts = [`${piped(exchange)}curl ${method} '${quoted(baseUrl + exchange.path)}'`]
  for (const [name, value] of Object.entries(headersOf(exchange)))
    parts.push(`-H ${headerArgument(`${name}: ${value}`)}`)
  if (isForm(exchange))
    for (const [name, value] of Object.entries(exchange.requestBody ?? {}))
      parts.push(`--data-urlencode '${quoted(`${name}=${value}`)}'`)
  else if (exchange.requestBody !== undefined)
    parts.push(`-d '${quoted(withoutQuotes(JSON.stringify(exchange.requestBody)))}'`)
  if (exchange.requestFile)
    parts.push(
      `-F 'file=@${fileArgument(exchange.requestFile.name)};type=${exchange.requestFile.type}'`,
    )
  if (exchange.requestPiece) parts.push('--data-binary @-')
  return parts.join(' \\\n  ')
}

/** Cuts the bytes that are sent out of their file. `./` keeps a name from being taken for an option. */
function piped({ requestPiece: piece }: Exchange): string {
  if (!piece) return ''
  return `tail -c +${piece.from + 1} './${quoted(piece.name)}' | head -c ${piece.to - piece.from} | \\\n  `
}

/**
 * Prefixes the command with everything it needs, and with the commands that set the variables in `first`. It is a
 * single line to the shell, because `read` would take the next pasted line as its input.
 */
export function runnable(
  command: string,
  baseUrl: string,
  hasAccounts: boolean,
  first: Record<string, string> = {},
): string {
  const own = Object.values(first)
  const names = namesIn([...own, command].join('\n')).filter((name) => !(name in first))
  const steps = names.flatMap((name) => settingOf(name, baseUrl, hasAccounts))
  return [...new Set([...steps, ...own, command])].join(' && \\\n')
}

const namesIn = (text: string) => [
  ...new Set([...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name)),
]

const LOGIN = `{"username":"$USERNAME","password":"$PASSWORD"}`

/** The tokens that a login answers with. */
const TOKENS: Record<string, string> = {
  ACCESS_TOKEN: 'accessToken',
  REFRESH_TOKEN: 'refreshToken',
}

function settingOf(name: string, baseUrl: string, hasAccounts: boolean): string[] {
  const value = publicValues[name]
  if (value !== undefined) return [`${name}='${value}'`]
  if (name === UNIQUE) return [`${UNIQUE}=$(date +%s)-$$`]
  const token = TOKENS[name]
  if (token && hasAccounts)
    return [
      ...settingOf('USERNAME', baseUrl, false),
      ...settingOf('PASSWORD', baseUrl, false),
      `${name}=$(curl -s '${baseUrl}/api/auth/login' -H 'Content-Type: application/json' \\\n  -d "${LOGIN.replaceAll('"', '\\"')}" | ${memberOf(token)})`,
    ]
  if (name === 'CSRF_TOKEN')
    return [`CSRF_TOKEN=$(curl -s '${baseUrl}/webauthn/csrf' | ${memberOf('token')})`]
  return [`printf '${name}: ' && read -r ${name}`]
}

/** Differs each time a sample runs: a second account or order needs another name. */
export const UNIQUE = 'UNIQUE'

/** Reads the first member of this name, or the last, from JSON that has ids and tokens as plain text or numbers. */
export function memberOf(name: string, which: 'head' | 'tail' = 'head'): string {
  return `grep -o '"${name}":"*[^",}]*' | ${which} -1 | sed 's/.*[":]//'`
}

/** The same request for a program, with the placeholders as variables. */
export function fetchOf(exchange: Exchange, baseUrl: string): string {
  const options = [`  method: '${exchange.method}',`]
  const headers = Object.entries(headersOf(exchange)).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${expression(value)},`,
  )
  if (headers.length > 0) options.push('  headers: {', ...headers, '  },')
  if (exchange.requestBody !== undefined) {
    const encoded = isForm(exchange) ? 'new URLSearchParams' : 'JSON.stringify'
    const body = literal(exchange.requestBody).replaceAll('\n', '\n  ')
    options.push(`  body: ${encoded}(${body}),`)
  }
  if (exchange.requestFile) options.push('  body: form,')
  const { requestPiece: piece } = exchange
  if (piece) options.push(`  body: file.slice(${piece.from}, ${piece.to}),`)
  const form = exchange.requestFile ? formOf(exchange.requestFile) : piece ? fileOf(piece) : ''
  const url = expression(baseUrl + exchange.path)
  return `${form}const reply = await fetch(${url}, {\n${options.join('\n')}\n})\n${PRINT}`
}

const PRINT = 'console.log(reply.status, await reply.text())'

function fileOf({ name }: { name: string }): string {
  return `const file = await openAsBlob(${JSON.stringify(name)})\n`
}

/** Node reads the file from its path. A browser has it from a field and does not need this line. */
function formOf({ name, type }: { name: string; type: string }): string {
  const path = JSON.stringify(name)
  return `const file = await openAsBlob(${path}, { type: ${JSON.stringify(type)} })
const form = new FormData()
form.append('file', file, ${path})
`
}

/**
 * A program that runs unchanged with Node: it first sets the variables of `code`, and asks for those that only a
 * person knows. `imports` are lines that it needs besides.
 */
export function program(
  code: string,
  { baseUrl, signsIn, imports = [] }: { baseUrl: string; signsIn: boolean; imports?: string[] },
): string {
  const declared = new Set([...code.matchAll(DECLARED)].map(([, name]) => name))
  const names = variablesIn(code).filter((name) => !declared.has(name))
  const needsLogin = signsIn && names.some((name) => TOKENS[name])
  const all = [...new Set([...(needsLogin ? ['USERNAME', 'PASSWORD'] : []), ...names])]
  const kinds = Map.groupBy(all, (name) => kindOf(name, signsIn))
  const asked = kinds.get('asked') ?? []
  const head = [
    ...(code.includes('openAsBlob(') ? ["import { openAsBlob } from 'node:fs'"] : []),
    ...(asked.length > 0 ? ["import { createInterface } from 'node:readline/promises'"] : []),
    ...imports,
  ]
  return [
    ...(head.length > 0 ? [...head, ''] : []),
    ...(kinds.get('known') ?? []).map((name) => `const ${name} = ${knownValue(name)}`),
    ...(asked.length > 0 ? questions(asked) : []),
    ...(needsLogin ? loginOf(baseUrl, kinds.get('token') ?? []) : []),
    ...(kinds.get('csrf')
      ? [`const { token: CSRF_TOKEN } = await (${csrfOf(baseUrl)}).json()`]
      : []),
    code,
  ].join('\n')
}

const DECLARED = /\bconst (?:\{ \w+: )?([A-Z_]+)\b/g

function kindOf(name: string, signsIn: boolean): 'known' | 'token' | 'csrf' | 'asked' {
  if (name === UNIQUE || publicValues[name] !== undefined) return 'known'
  if (name === 'CSRF_TOKEN') return 'csrf'
  return TOKENS[name] && signsIn ? 'token' : 'asked'
}

const knownValue = (name: string) => (name === UNIQUE ? 'Date.now()' : `'${publicValues[name]}'`)

function questions(names: string[]): string[] {
  return [
    'const terminal = createInterface({ input: process.stdin, output: process.stdout })',
    ...names.map((name) => `const ${name} = await terminal.question('${name}: ')`),
    'terminal.close()',
  ]
}

function loginOf(baseUrl: string, names: string[]): string[] {
  return [
    `const login = await fetch('${baseUrl}/api/auth/login', {`,
    "  method: 'POST',",
    "  headers: { 'Content-Type': 'application/json' },",
    '  body: JSON.stringify({ username: USERNAME, password: PASSWORD }),',
    '})',
    `const { ${names.map((name) => `${TOKENS[name]}: ${name}`).join(', ')} } = await login.json()`,
  ]
}

const csrfOf = (baseUrl: string) => `await fetch('${baseUrl}/webauthn/csrf')`

const VARIABLE = new RegExp(`\\b(?:${NAMES})\\b`, 'g')
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g

/** Texts may contain the same words, as `X-XSRF-TOKEN` does; a template uses those in braces. */
function variablesIn(code: string): string[] {
  const used = code
    .replaceAll(STRING, "''")
    .replaceAll(/`[^`]*`/g, (template) =>
      [...template.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name).join(' '),
    )
  return [...new Set(used.match(VARIABLE))]
}

/** The token against forgery counts only with its cookie, which a browser sends by itself. */
function headersOf({ requestHeaders }: Exchange): Record<string, string> {
  const token = requestHeaders['X-XSRF-TOKEN']
  return token === undefined ? requestHeaders : { ...requestHeaders, Cookie: `XSRF-TOKEN=${token}` }
}

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

/** A variable that holds a number: `#` after its name. */
const NUMBER = /"(\$[A-Z_]+)#"/g

const withoutQuotes = (json: string) => json.replaceAll(NUMBER, '$1')

/** A value as code, with its placeholders as variables. */
export function literal(value: unknown): string {
  const text = JSON.stringify(value, null, 2).replaceAll(NUMBER, (_, name) => name.slice(1))
  return text
    .replaceAll(/"\$([A-Z_]+)"/g, '$1')
    .replaceAll(/"[^"\n]*\$[A-Z]+[^"\n]*"/g, (found) => expression(found.slice(1, -1)))
}
