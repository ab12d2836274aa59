import { signal } from '@preact/signals'

export type UploadFacts = {
  maxFileBytes: number
  types: { name: string; mediaType: string; extensions: string[]; alsoDeclared?: string[] }[]
}

type Facts = {
  /** What runs beside this service; nothing where it runs alone. */
  suite: {
    home: string
    consoles: { name: string; title: string; href: string }[]
    /** The console of the service whose accounts are taken here, too. */
    signIn?: string
  } | null
  demoAccounts?: boolean
  passwordMinLength?: number
  registration?: boolean
  uploads?: UploadFacts
  /** Another service whose accounts are taken here. */
  issuer?: string
  /** Who may call, where that is a setting. */
  access?: 'open' | 'keys' | 'issuer'
  /** Whether mails are kept here to be read, as there is no mail server. */
  developmentMail?: boolean
}

/** What the service says about itself beside its pages. */
export const facts = signal<Facts>({ suite: null })

export const factsRead = fetch('facts.json').then(
  async (reply) => {
    if (reply.ok) facts.value = await reply.json()
  },
  () => {},
)
