import { setTimeout as pause } from 'node:timers/promises'
import { isLoopback } from '@plinth/kit/runtime'
import { type Command, CommandError, EXIT, type Outcome } from '../../command.ts'

const CLIENT = 'plinth-cli'
const SCOPE = 'openid profile'
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const ANSWER_MS = 15_000
const MAX_SECONDS = 1_800
const SLOWER_SECONDS = 5

export const login: Command = {
  name: 'login',
  summary: 'gets a token of yours from a running Plinth, at any address',
  operands: ['<url>'],
  options: {
    'client-id': {
      type: 'string',
      value: 'ID',
      help: `a public client for devices; ${CLIENT} by default`,
    },
    scope: { type: 'string', value: 'SCOPES', help: `separated by spaces; "${SCOPE}" by default` },
    resource: { type: 'string', value: 'URL', help: 'the service that the token is for' },
  },
  run: async ({ operands: [given = ''], text }): Promise<Outcome> => {
    const server = await discover(addressOf(given))
    const resource = text('resource')
    const request = {
      client_id: text('client-id') ?? CLIENT,
      scope: text('scope') ?? SCOPE,
      ...(resource !== undefined && { resource }),
    }
    const device = await startDevice(server, request)
    const { verification_uri: page, user_code: code } = device
    console.error(`Open ${printable(page)} and type ${printable(code)}`)
    console.error(`or open ${printable(device.verification_uri_complete)}`)
    const tokens = await waitForUser(server, request.client_id, device)
    const minutes = Math.floor(tokens.expires_in / 60)
    return {
      text: tokens.access_token,
      note: `The token is valid for ${minutes} minutes, and opens what you may do there.`,
      json: {
        accessToken: tokens.access_token,
        expiresIn: tokens.expires_in,
        scope: tokens.scope,
        refreshToken: tokens.refresh_token ?? null,
        idToken: tokens.id_token ?? null,
        tokenEndpoint: server.token_endpoint,
        clientId: request.client_id,
      },
    }
  },
}

type Server = { device_authorization_endpoint: string; token_endpoint: string }

type Device = {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}

type Tokens = {
  access_token: string
  expires_in: number
  scope: string
  refresh_token?: string
  id_token?: string
}

/** Tokens travel only over TLS, or on this machine. */
function addressOf(text: string): string {
  if (isSafe(text)) return text.replace(/\/+$/, '')
  const sentence = `${text}: expected an address with https://, or with http:// on this machine.`
  throw new CommandError(EXIT.usage, sentence)
}

function isSafe(text: string): boolean {
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'http:' && isLoopback(url.hostname)
  return url?.protocol === 'https:' || isPlain
}

async function discover(url: string): Promise<Server> {
  const { status, body } = await ask(`${url}/.well-known/openid-configuration`)
  const { device_authorization_endpoint: device, token_endpoint: token } = body
  if (status !== 200 || !isAddress(device) || !isAddress(token))
    throw new CommandError(EXIT.unavailable, `${url} does not let devices sign in.`)
  return { device_authorization_endpoint: device, token_endpoint: token }
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && isSafe(value)
}

async function startDevice(server: Server, form: Record<string, string>): Promise<Device> {
  const { status, body } = await ask(server.device_authorization_endpoint, form)
  if (status === 200 && isDevice(body)) return body
  const hint =
    body.error === 'invalid_client' && form.client_id === CLIENT
      ? ' Either IDENTITY_COMMAND_LOGIN=on is set there, or you name a client with --client-id.'
      : ''
  throw new CommandError(EXIT.failed, `${reasonIn(body, status)}${hint}`)
}

function isDevice(body: Record<string, unknown>): body is Device {
  const { device_code, user_code, verification_uri, expires_in } = body
  const texts = [device_code, user_code, verification_uri]
  return texts.every((value) => typeof value === 'string') && typeof expires_in === 'number'
}

/** RFC 8628, section 3.5. A server that does not answer for a moment is asked again. */
async function waitForUser(server: Server, client: string, device: Device): Promise<Tokens> {
  const form = { grant_type: GRANT, client_id: client, device_code: device.device_code }
  const seconds = Math.min(device.expires_in, MAX_SECONDS)
  const until = performance.now() + seconds * 1000
  let interval = Math.max(1, device.interval ?? 5)
  while (performance.now() < until) {
    await pause(interval * 1000)
    const { status, body } = await ask(server.token_endpoint, form).catch(unanswered)
    if (status === 200 && isTokens(body)) return body
    if (body.error === 'slow_down') interval += SLOWER_SECONDS
    else if (status < 500 && body.error !== 'authorization_pending')
      throw new CommandError(EXIT.failed, reasonIn(body, status))
  }
  throw new CommandError(EXIT.failed, 'The code has expired: run the command again.')
}

function unanswered(error: unknown): Answer {
  if (error instanceof CommandError) return { status: 503, body: {} }
  throw error
}

function isTokens(body: Record<string, unknown>): body is Tokens {
  return typeof body.access_token === 'string' && typeof body.expires_in === 'number'
}

type Answer = { status: number; body: Record<string, unknown> }

async function ask(url: string, form?: Record<string, string>): Promise<Answer> {
  const request = form && { method: 'POST', body: new URLSearchParams(form) }
  const signal = AbortSignal.timeout(ANSWER_MS)
  const headers = { accept: 'application/json', 'user-agent': 'plinth' }
  try {
    const reply = await fetch(url, { ...request, headers, signal, redirect: 'error' })
    const body: unknown = JSON.parse(await reply.text())
    return { status: reply.status, body: typeof body === 'object' && body ? { ...body } : {} }
  } catch (error) {
    const { code, message } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
    const reason = error instanceof SyntaxError ? 'not with JSON' : (code ?? message)
    throw new CommandError(EXIT.unavailable, `${url} does not answer: ${reason}.`, { cause: error })
  }
}

const REASONS: Record<string, string> = {
  access_denied: 'You have refused.',
  expired_token: 'The code has expired: run the command again.',
}

function reasonIn({ error, error_description: description }: Answer['body'], status: number) {
  const known = typeof error === 'string' ? REASONS[error] : undefined
  return (
    known ?? printable(typeof description === 'string' ? description : `It answered ${status}.`)
  )
}

/** What another machine sends must not control the terminal. */
function printable(text: unknown): string {
  return String(text ?? '').replace(/[^\x20-\x7e]/g, '?')
}
