import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { preferredLanguage } from '@plinth/kit/http'
import { StartError } from '@plinth/kit/problems'
import { browserOf } from './browsers.ts'
import de from './languages/de.json' with { type: 'json' }
import en from './languages/en.json' with { type: 'json' }
import es from './languages/es.json' with { type: 'json' }
import { LANGUAGES, type Language, type MailSettings } from './settings.ts'

export type MailKind = keyof typeof en.mails

/** Sent to a user whose account no longer exists. */
export const LAST_MAIL = 'account-erased' satisfies MailKind

/** The values that mail texts may contain; `code` and `link` get a line of their own. */
export type Details = Record<string, string>

type Message = { subject: string; text: string[] }

type Texts = {
  language: Language
  closing: string[]
  /** Replaces a closing line with the address or browser if those would be an administrator's. */
  administrator: string
  browser: { known: string; unknown: string }
  mails: Record<MailKind, Message>
}

/** Stored instead of an administrator's address. */
export const ADMINISTRATOR = 'administrator'

export type Messages = Record<Language, Texts>

/** The texts of each language. A file in the template folder overrides the mails it contains. */
export function readMessages({ templateFolder }: MailSettings): Messages {
  const messages: Messages = {
    en: { ...en, language: 'en' },
    de: { ...de, language: 'de' },
    es: { ...es, language: 'es' },
  }
  for (const language of LANGUAGES) {
    const file = templateFolder && join(templateFolder, `${language}.json`)
    if (!file || !existsSync(file)) continue
    const own = parse(file)
    messages[language] = {
      ...messages[language],
      closing: own.closing ?? messages[language].closing,
      mails: { ...messages[language].mails, ...own.mails },
    }
  }
  return messages
}

function parse(file: string): Partial<Texts> {
  try {
    const own = JSON.parse(readFileSync(file, 'utf8')) as Partial<Texts>
    for (const [kind, mail] of Object.entries(own.mails ?? {}))
      if (!(kind in en.mails) || typeof mail.subject !== 'string' || !Array.isArray(mail.text))
        throw new Error(`"${kind}" is not a mail with a subject and paragraphs`)
    return own
  } catch (cause) {
    const { message } = cause as Error
    throw new StartError(`The mail texts in ${file} cannot be used: ${message}`, { cause })
  }
}

/** Renders a mail as plain text and as HTML with the same content. Values are escaped in the HTML. */
export function renderMail(
  { language, administrator, closing, mails }: Texts,
  kind: MailKind,
  given: Details,
  colour = 'transparent',
): { subject: string; text: string; html: string } {
  const { code = '', link = '' } = given
  const details: Details = {
    ...given,
    code: code.replace(/^(\d{4})(?=\d{4}$)/, '$1-'),
    // The page where the code can be typed: the link without its token.
    page: link.replace(/(#\w+)=.*$/, '$1'),
  }
  const message = mails[kind]
  const end = closing.map((line) =>
    given.address === ADMINISTRATOR && /\{(address|browser)\}/.test(line) ? administrator : line,
  )
  const paragraphs = [...message.text, ...end]
  return {
    subject: fill(message.subject, { app: details.app ?? '' }),
    text: `${paragraphs.map((paragraph) => fill(paragraph, details)).join('\n\n')}\n`,
    html: `<!doctype html><html lang="${language}"><body style="font-family:sans-serif;font-size:16px;line-height:1.5;overflow-wrap:anywhere;max-width:34em;margin:2em auto;padding:1em;border-top:4px solid ${colour}">${paragraphs.map((paragraph) => htmlOf(paragraph, details)).join('\n')}</body></html>`,
  }
}

function htmlOf(paragraph: string, details: Details): string {
  const text = escapeHtml(fill(paragraph, details))
  if (paragraph === '{code}')
    return `<p style="font-size:28px;letter-spacing:4px;font-family:monospace">${text}</p>`
  if (paragraph === '{link}') return `<p><a href="${text}">${text}</a></p>`
  return `<p>${text}</p>`
}

function fill(text: string, details: Details): string {
  return withoutNames(text, details).replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => details[name] ?? '',
  )
}

const OPTIONAL = /\[([^[\]]*\{(username|newEmail)\}[^[\]]*)\]/g
const BARE = /,?\s*\{(username|newEmail)\}/g

/** Where a name must not be shown, the text in brackets around it is left out; so is one without brackets. */
function withoutNames(text: string, details: Details): string {
  return text
    .replaceAll(OPTIONAL, (_, inside: string, name: string) => (details[name] ? inside : ''))
    .replaceAll(BARE, (whole: string, name: string) => (details[name] ? whole : ''))
}

/** Never quotes the header itself: a stranger may have chosen it, and readers would take it for our words. */
export function browserIn({ browser }: Texts, userAgent: string | null): string {
  const { family, system } = browserOf(userAgent)
  if (!family) return browser.unknown
  return system ? fill(browser.known, { family, system }) : family
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string)
}

/** The best match among our languages for an `Accept-Language` header. */
export function languageFor(header: string | undefined, fallback: Language): Language {
  return preferredLanguage(header, LANGUAGES) ?? fallback
}
