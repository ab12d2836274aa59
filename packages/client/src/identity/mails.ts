import type { OpenSession } from '../accounts.ts'
import type {
  Mail,
  MailTemplate,
  PageOfMails,
  Queries,
  RenderedMail,
  Replies,
} from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'
import { type Listing, pages } from '../http/listing.ts'
import { ALSO_DOWN, type Health } from '../operations.ts'

export type MailQuery = Queries['GET /api/mail']

/** The mails that the service sends. For administrators. */
export class Mails {
  readonly #open: Calls<Replies>
  readonly #calls: Calls<Replies>

  constructor({ open, calls }: OpenSession<Replies>) {
    this.#open = open
    this.#calls = calls
  }

  /**
   * @example
   * for await (const { to, state } of identity.mail.list()) console.log(to, state)
   */
  list(query?: MailQuery, options?: CallOptions): Listing<PageOfMails, Mail> {
    return pages((next) =>
      this.#calls.json('GET /api/mail', { query: { ...query, ...next } }, options),
    )
  }

  /**
   * @example
   * await identity.mail.retry('mail_0190163d8694739b')
   */
  retry(id: string, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('POST /api/mail/{id}/retry', { path: { id } }, options)
  }

  /**
   * Every mail, rendered with sample details.
   * @example
   * const templates = await identity.mail.templates('de')
   */
  templates(language?: 'en' | 'de' | 'es', options?: CallOptions): Promise<MailTemplate[]> {
    return this.#calls.json('GET /api/mail/templates', { query: { language } }, options)
  }

  /**
   * Whether the mail server accepts our mails; checked once a minute.
   * @example
   * const { status } = await identity.mail.health()
   */
  health(options?: CallOptions): Promise<Health> {
    return this.#open.json('GET /actuator/health/mail', ALSO_DOWN, options)
  }

  /**
   * The mails to an address with their links and codes, in development only.
   * @example
   * const [mail] = await identity.mail.development('ada@example.com')
   */
  development(to?: string, options?: CallOptions): Promise<RenderedMail[]> {
    return this.#open.json('GET /api/dev/mail', { query: { to } }, options)
  }
}
