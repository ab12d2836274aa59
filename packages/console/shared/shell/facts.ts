import { signal } from '@preact/signals'

export type UploadFacts = {
  maxFileBytes: number
  types: { name: string; mediaType: string; extensions: string[]; alsoDeclared?: string[] }[]
}

type Facts = {
  /** The services that run beside this one; null when it runs alone. */
  suite: {
    home: string
    consoles: { name: string; title: string; href: string }[]
    /** The console of the issuer, where tokens for this service come from. */
    signIn?: string
  } | null
  demoAccounts?: boolean
  /** The API key of a fresh checkout, if the service accepts it. */
  developmentKey?: string
  passwordMinLength?: number
  registration?: boolean
  /** Whether a registration becomes an account only when its mail is confirmed. */
  registrationByMail?: boolean
  /** Whether a mailed code signs in. */
  signInCode?: boolean
  uploads?: UploadFacts
  /** What a service key may be allowed to do. */
  keyScopes?: string[]
  /** What the audit records. */
  auditEvents?: string[]
  /** Whether there is a database for service keys, where that is a setting. */
  serviceKeys?: boolean
  /** The sizes and presets in which pictures are drawn. */
  pictures?: { sizes: number[]; presets: string[] }
  /** How many earlier versions of a file are kept. */
  versions?: number
  /** The service whose tokens this one requires. */
  issuer?: string
  /** Who may call the service, if that is a setting. */
  access?: 'open' | 'keys' | 'issuer'
  /** Whether mails can be read in the console because there is no mail server. */
  developmentMail?: boolean
}

/** What the service reports about itself in `facts.json`, next to its pages. */
export const facts = signal<Facts>({ suite: null })

export const factsRead = fetch('facts.json').then(
  async (reply) => {
    if (reply.ok) facts.value = await reply.json()
  },
  () => {},
)
