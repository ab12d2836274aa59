import { existsSync } from 'node:fs'
import { isLoopback, type Settings } from '@plinth/kit/runtime'
import { isMailable } from './recipient.ts'

export type SmtpSettings = {
  host: string
  port: number
  /** TLS from the first byte; otherwise STARTTLS. */
  implicitTls: boolean
  requireTls: boolean
  /** For a mail server on this machine: those often have self-signed certificates. */
  anyCertificate: boolean
  auth: { user: string; pass: string } | undefined
}

export const LANGUAGES = ['en', 'de', 'es'] as const

export type Language = (typeof LANGUAGES)[number]

export type MailSettings = {
  production: boolean
  /** `undefined` when nothing is sent. */
  smtp: SmtpSettings | undefined
  /** In development without SMTP, mails stay in the outbox, where the console shows them. */
  keepInOutbox: boolean
  from: string
  /** The application's name in mails and on the account pages. */
  appName: string
  /** `#rrggbb`, for the mails and the account pages. */
  colour: string | undefined
  /** A PNG or SVG file, for the account pages. */
  logo: string | undefined
  language: Language
  templateFolder: string | undefined
  /** Whether mails are rate-limited per address, per network and in total. */
  limited: boolean
}

export function mailSettings(
  settings: Settings,
  host: { host: string; publicUrl: string },
): MailSettings {
  const smtp = smtpSettings(settings)
  const onThisMachine = !settings.production && isLoopback(host.host)
  const language = settings.choice('IDENTITY_MAIL_LANGUAGE', LANGUAGES, 'en')
  return {
    production: settings.production,
    smtp,
    keepInOutbox: smtp === undefined && keepsMails(settings, onThisMachine),
    from: sender(settings, smtp !== undefined, host.publicUrl),
    appName: settings.text('IDENTITY_APP_NAME', nameOf(new URL(host.publicUrl).hostname)),
    colour: colour(settings),
    logo: logo(settings),
    language,
    templateFolder: templateFolder(settings),
    limited: settings.flag('IDENTITY_MAIL_LIMITS', settings.production),
  }
}

/** Everyone can read mails that stay in the outbox. */
function keepsMails(settings: Settings, fallback: boolean): boolean {
  const name = 'IDENTITY_DEVELOPMENT_MAIL'
  const keeps = settings.flag(name, fallback)
  if (keeps && settings.production)
    settings.fault(name, 'Expected false in production: everyone could read every mail.', 'false')
  return keeps
}

/** A machine of one's own has no name that would say whose account it is. */
function nameOf(hostname: string): string {
  return isLoopback(hostname) ? 'Plinth' : hostname
}

function sender(settings: Settings, needed: boolean, publicUrl: string): string {
  const fallback = `plinth@${new URL(publicUrl).hostname}`
  const from = needed
    ? settings.required('MAIL_FROM', 'accounts@example.com')
    : settings.text('MAIL_FROM', fallback)
  if (needed && from !== '' && !isMailable(from))
    settings.fault('MAIL_FROM', 'Expected a plain address.', 'accounts@example.com')
  return from
}

const PORTS = { smtp: 587, smtps: 465 }

/** From one URL or its parts. In production, TLS is required: a password or code must never travel in the clear. */
function smtpSettings(settings: Settings): SmtpSettings | undefined {
  const text = settings.optional('SMTP_URL')
  const named = settings.optional('SMTP_HOST')
  if (text === undefined && named === undefined) return undefined
  const url = text === undefined ? undefined : smtpUrl(settings, text)
  const implicitTls = url ? url.protocol === 'smtps:' : settings.flag('SMTP_TLS', false)
  const host = url?.hostname || named || 'localhost'
  const fallback = implicitTls ? PORTS.smtps : PORTS.smtp
  const user = settings.optional('SMTP_USER') ?? decoded(settings, url?.username)
  const pass = settings.optional('SMTP_PASSWORD') ?? decoded(settings, url?.password)
  return {
    host,
    port: Number(url?.port) || settings.integer('SMTP_PORT', fallback, { min: 1, max: 65535 }),
    implicitTls,
    requireTls: settings.production && !isLoopback(host),
    anyCertificate: isLoopback(host),
    auth: user === '' ? undefined : { user, pass },
  }
}

function smtpUrl(settings: Settings, text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^smtps?:$/.test(url.protocol) && url.hostname !== '') return url
  settings.fault('SMTP_URL', 'Expected smtp:// or smtps://.', 'smtps://user:password@mail.example')
  return undefined
}

function decoded(settings: Settings, text = ''): string {
  try {
    return decodeURIComponent(text)
  } catch {
    const example = 'smtps://user:100%25@mail.example'
    settings.fault(
      'SMTP_URL',
      'Expected % in the name or the password to be written as %25.',
      example,
    )
    return ''
  }
}

function templateFolder(settings: Settings): string | undefined {
  const folder = settings.optional('IDENTITY_MAIL_TEMPLATES')
  if (folder !== undefined && !existsSync(folder))
    settings.fault('IDENTITY_MAIL_TEMPLATES', 'Expected a folder.', '/etc/plinth/mail')
  return folder
}

function colour(settings: Settings): string | undefined {
  const value = settings.optional('IDENTITY_APP_COLOUR')
  if (value !== undefined && !/^#[0-9a-f]{6}$/i.test(value))
    settings.fault('IDENTITY_APP_COLOUR', 'Expected a colour as six hexadecimal digits.', '#4f55c9')
  return value
}

function logo(settings: Settings): string | undefined {
  const file = settings.optional('IDENTITY_APP_LOGO')
  if (file !== undefined && !(/\.(png|svg)$/i.test(file) && existsSync(file)))
    settings.fault('IDENTITY_APP_LOGO', 'Expected a PNG or SVG file.', '/etc/plinth/logo.svg')
  return file
}
