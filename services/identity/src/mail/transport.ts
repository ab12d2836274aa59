import type { Transporter } from 'nodemailer'
import type { MailSettings, SmtpSettings } from './settings.ts'

type OutgoingMail = { id: string; to: string; subject: string; text: string; html: string }

/** What was refused or failed: this mail, our address as its sender, or the connection and sign-in. */
type Concern = 'mail' | 'sender' | 'connection'

export type Delivered =
  | { ok: true; reply: string }
  | { ok: false; retry: boolean; reply: string; concerns: Concern }

export type Transport = {
  send(mail: OutgoingMail): Promise<Delivered>
  /** Connects and logs in, but sends nothing. Throws the server's reply. */
  check(): Promise<void>
  close(): void
}

type Refusal = { responseCode?: number; command?: string; message: string }

const CONNECTIONS = 2
const CONNECT_MS = 10_000
const SOCKET_MS = 30_000
const MAX_REPLY = 300

/** Only refusals of these commands are final: others concern this service or its settings, and may be temporary. */
const ABOUT_THE_MAIL = ['RCPT TO', 'DATA']

/** SMTP with nodemailer, which is loaded only when needed. */
export function openTransport(
  { from }: MailSettings,
  smtp: SmtpSettings,
  publicUrl: string,
): Transport {
  const { hostname } = new URL(publicUrl)
  let transporter: Promise<Transporter> | undefined
  const connect = () => {
    transporter ??= createTransporter(smtp, hostname)
    transporter.catch(() => {
      transporter = undefined
    })
    return transporter
  }
  return {
    async send({ id, to, subject, text, html }) {
      try {
        const sent = await (await connect()).sendMail({
          // Objects and an explicit envelope, because nodemailer parses strings as address lists.
          from: { name: '', address: from },
          to: { name: '', address: to },
          envelope: { from, to: [to] },
          messageId: `<${id}@${hostname}>`,
          subject,
          text,
          html,
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
          disableFileAccess: true,
          disableUrlAccess: true,
        })
        return { ok: true, reply: shorten(String(sent.response)) }
      } catch (error) {
        const { responseCode = 0, command = '', message } = error as Refusal
        const concerns = concernOf({ responseCode, command, message })
        const isFinal = responseCode >= 500 && concerns === 'mail'
        return { ok: false, retry: !isFinal, reply: shorten(message), concerns }
      }
    },
    async check() {
      await (await connect()).verify()
    },
    close() {
      transporter?.then(
        (opened) => opened.close(),
        () => {},
      )
    },
  }
}

/** A server that says nothing after a command has failed, whatever the command. */
function concernOf({ responseCode = 0, command = '' }: Refusal): Concern {
  if (responseCode > 0 && ABOUT_THE_MAIL.includes(command)) return 'mail'
  return command === 'MAIL FROM' ? 'sender' : 'connection'
}

async function createTransporter(smtp: SmtpSettings, name: string): Promise<Transporter> {
  const { default: nodemailer } = await import('nodemailer')
  return nodemailer.createTransport({
    host: smtp.host,
    port: smtp.port,
    secure: smtp.implicitTls,
    requireTLS: smtp.requireTls,
    tls: { rejectUnauthorized: !smtp.anyCertificate },
    ...(smtp.auth && { auth: smtp.auth }),
    name,
    pool: true,
    maxConnections: CONNECTIONS,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SOCKET_MS,
  })
}

function shorten(reply: string): string {
  return reply.replaceAll(/\s+/g, ' ').slice(0, MAX_REPLY)
}
