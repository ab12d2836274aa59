import type { LinkState } from '@plinth/client'
import { filled } from '../../../shared/account/own/words.ts'
import { authorization, opened } from '../authorization/authorization.ts'
import { de } from './de.ts'
import { en, type Texts } from './en.ts'
import { es } from './es.ts'

// An application may ask for a language, so the page is written only when that is known.
await opened

/** The first language that we support, with its region, which dates follow. */
const wanted = [authorization.value?.locale ?? '', ...navigator.languages]
const language =
  wanted
    .find((tag) => /^(en|de|es)\b/i.test(tag))
    ?.slice(0, 2)
    .toLowerCase() ?? 'en'
const locale = navigator.languages.find((tag) => tag.toLowerCase().startsWith(language)) ?? language

document.documentElement.lang = language

export const texts: Texts = { en, de, es }[language] ?? en

const FAILURES: Record<string, string> = {
  TOKEN_INVALID: texts.codeInvalid,
  EMAIL_ALREADY_EXISTS: texts.taken,
  USERNAME_ALREADY_EXISTS: texts.nameTaken,
  MFA_REQUIRED: texts.factorAsked,
  INVALID_CODE: texts.factorRefused,
  INVALID_CREDENTIALS: texts.signInRefused,
  INVALID_ACCESS_TOKEN: texts.signedOut,
  EMAIL_NOT_VERIFIED: texts.notVerified,
  LAST_ADMINISTRATOR: texts.lastAdmin,
  MAIL_NOT_CONFIGURED: texts.mailOff,
  TOO_MANY_ATTEMPTS: texts.tooManyAttempts,
}

/** Explains why a link no longer works. */
export function endedText({ state, at }: LinkState = { state: 'unknown', at: null }): string {
  const { used, replaced, expired, invalid } = texts
  return filled({ used, replaced, expired, unknown: invalid }[state], {
    time: at ? timeIn(at) : '',
  })
}

/** A refusal in the language of the reader. */
export function failureText(code: string | undefined): string {
  return FAILURES[code ?? ''] ?? texts.failed
}

export function dateIn(at: string): string {
  // With the month in words: even readers of one language read 11/12 as different days.
  return new Date(at).toLocaleDateString(locale, { dateStyle: 'long' })
}

export function timeIn(at: string): string {
  const style = { dateStyle: 'medium', timeStyle: 'short' } as const
  return new Date(at).toLocaleString(locale, style)
}
