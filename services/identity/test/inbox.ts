import { once } from 'node:events'
import type { TestContext } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { SMTPServer } from 'smtp-server'
import { until } from '../../../test/until.ts'
import { adminToken } from './start-identity.ts'

export type Received = { from: string; to: string[]; source: string }

type Reply = { code: number; text: string }

/** A step of the SMTP dialogue: before the greeting, after `RCPT TO`, or after the whole mail. */
export type SmtpStep = 'connect' | 'recipient' | 'data'

type Behaviour = {
  /** The refusal for a recipient, if any. */
  refuse?: (to: string) => Reply | undefined
  /** Refusals at the other steps. */
  refuseAt?: Partial<Record<'greeting' | 'sign-in' | 'sender' | 'data', Reply>>
  /** Whether the server never answers at this step. */
  holds?: (step: SmtpStep, to: string) => boolean
  /** Offers STARTTLS with a self-signed certificate. */
  encrypts?: boolean
}

function refusal(reply: Reply | undefined): Error | null {
  return reply ? Object.assign(new Error(reply.text), { responseCode: reply.code }) : null
}

/** A real SMTP server on a free port. */
export async function startSmtpServer(
  t: Pick<TestContext, 'after'>,
  { refuse, refuseAt = {}, holds = () => false, encrypts = false }: Behaviour = {},
) {
  const received: Received[] = []
  /** The address of every `RCPT TO`, including refused ones. */
  const recipients: string[] = []
  const held: SmtpStep[] = []
  const counts = { signIns: 0, connections: 0, encrypted: 0 }
  const unlessHeld = (step: SmtpStep, to: string, answer: () => void) => {
    if (holds(step, to)) held.push(step)
    else answer()
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: encrypts ? [] : ['STARTTLS'],
    allowInsecureAuth: !encrypts,
    logger: false,
    // The service keeps its connections open for the next mail.
    closeTimeout: 100,
    onConnect(_session, callback) {
      counts.connections += 1
      unlessHeld('connect', '', () => callback(refusal(refuseAt.greeting)))
    },
    onAuth(_credentials, _session, callback) {
      counts.signIns += 1
      callback(refusal(refuseAt['sign-in']), { user: 'known' })
    },
    onMailFrom(_address, _session, callback) {
      callback(refusal(refuseAt.sender))
    },
    onRcptTo({ address }, session, callback) {
      recipients.push(address)
      if (session.secure) counts.encrypted += 1
      const reply = refuse?.(address)
      if (!reply) return unlessHeld('recipient', address, callback)
      callback(refusal(reply))
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const to = rcptTo.map(({ address }) => address)
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to,
          source: Buffer.concat(chunks).toString('utf8'),
        })
        unlessHeld('data', to[0] ?? '', () => callback(refusal(refuseAt.data)))
      })
    },
  })
  const listener = server.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as { port: number }
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { received, recipients, held, counts, url: `smtp://127.0.0.1:${port}` }
}

/** The unfolded headers of a mail, keyed by lower-case name. */
export function headersOf({ source }: Received): Record<string, string> {
  const [head = ''] = source.split(/\r?\n\r?\n/)
  const lines = head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
}

/** The plain text of a mail, decoded. */
export function textOf({ source }: Received): string {
  // The whole boundary: a token that is broken across lines may put "--" at the start of one.
  const [, boundary = ''] = /boundary="([^"]+)"/.exec(source) ?? []
  const part = source.split(`--${boundary}`).find((each) => /Content-Type: text\/plain/.test(each))
  const [head = '', ...body] = (part ?? '').split(/\r?\n\r?\n/)
  const encoded = body.join('\n\n')
  return /quoted-printable/i.test(head) ? decodeQuotedPrintable(encoded) : encoded
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

export type Mail = {
  kind: string
  to: string
  code: string
  link: string
  text: string
  html: string
}

/** Waits for the newest mail of a kind. */
export async function mailTo(api: Api, to: string, kind: string, count = 1): Promise<Mail> {
  const read = async () => {
    const { body } = await api.get(`/api/dev/mail?to=${encodeURIComponent(to)}`)
    return (body as Mail[]).filter((mail) => mail.kind === kind)
  }
  const mails = await until(read, (found) => found.length >= count)
  return mails[0] as Mail
}

export const tokenOf = ({ link }: Mail) => new URL(link).hash.split('=')[1] as string

/** The kinds of all mails in the outbox to an address, sorted. */
export async function kindsTo(api: Api, address: string): Promise<string[]> {
  const { body } = await api.get('/api/mail?size=100', { token: await adminToken(api) })
  const mails = body.content as { kind: string; to: string }[]
  return mails
    .filter(({ to }) => to === address)
    .map(({ kind }) => kind)
    .toSorted()
}
