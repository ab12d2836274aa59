import { type AccountGuard, ADMIN_ROLE, byCaller, normalName } from '@plinth/accounts'
import {
  bareReply,
  componentHealthRoute,
  type Health,
  lookUpText,
  oneOf,
  orNull,
  pageQuery,
  pageReply,
  pageRequest,
  requiredText,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import {
  mailsForAdministrators,
  mailsForDevelopers,
  mailTemplates,
  type Outbox,
  sendAgain,
} from './outbox.ts'
import { mailNotFailed, mailUnknown } from './problems.ts'
import { LANGUAGES } from './settings.ts'

const tags = ['Mail']

const summary = {
  id: Type.String(),
  kind: Type.String({ examples: ['password-reset'] }),
  to: Type.String({ examples: ['ada@example.com'] }),
  state: oneOf('queued', 'sent', 'failed', 'dropped'),
  attempts: Type.Integer(),
  createdAt: timestamp(),
  sentAt: orNull(timestamp()),
  lastReply: orNull(Type.String({ examples: ['250 OK'] })),
}

const closed = { additionalProperties: false }

const MailReply = Type.Object(summary, { ...closed, title: 'Mail' })

const rendered = { subject: Type.String(), text: Type.String(), html: Type.String() }

const MailTemplate = Type.Object(
  { kind: summary.kind, ...rendered },
  { ...closed, title: 'MailTemplate' },
)

const RenderedMail = Type.Object(
  {
    ...summary,
    ...rendered,
    code: orNull(Type.String({ examples: ['12345678'] })),
    link: orNull(Type.String()),
  },
  { ...closed, title: 'RenderedMail' },
)

const MAIL_SORTS = ['createdAt']

/** Health of the mail server, the outbox for administrators and, in development, the mails themselves. */
export function mailRoutes(
  server: Server,
  outbox: Outbox,
  { guard, health }: { guard: AccountGuard; health(): Promise<Health> },
): void {
  const admin = guard.role(ADMIN_ROLE)
  const operation = {
    operationId: 'mailHealth',
    summary: 'Whether the mail server accepts our mails',
  }
  componentHealthRoute(server, { name: 'mail', ...operation }, health)
  server.tellPages(() => ({ developmentMail: outbox.settings.keepInOutbox }))

  server.get('/api/mail', {
    onRequest: admin,
    schema: {
      operationId: 'mails',
      summary: 'The mails of the last 30 days and what became of them',
      tags,
      readsQuery: pageQuery(MAIL_SORTS),
      response: { 200: pageReply(MailReply, 'PageOfMails') },
    },
    handler: ({ query }) => mailsForAdministrators(outbox, pageRequest(query, MAIL_SORTS)),
  })

  server.post('/api/mail/:id/retry', {
    onRequest: admin,
    schema: {
      operationId: 'retryMail',
      summary: 'Resend a failed mail',
      tags,
      params: Type.Object({ id: lookUpText({ description: 'The id of a mail' }) }),
      response: { 202: bareReply({ description: 'Queued' }) },
      problems: [mailUnknown, mailNotFailed],
    },
    handler: (request) => sendAgain(outbox, request.params.id, byCaller(request)),
  })

  server.get('/api/mail/templates', {
    onRequest: admin,
    schema: {
      operationId: 'mailTemplates',
      summary: 'Every mail as it would look, with sample details',
      tags,
      querystring: Type.Object({ language: Type.Optional(oneOf(...LANGUAGES)) }),
      response: { 200: Type.Array(MailTemplate) },
    },
    handler: ({ query }) => mailTemplates(outbox, query.language),
  })

  if (outbox.settings.keepInOutbox) developmentRoutes(server, outbox)
}

/** Without a mail server this is everyone's inbox: never in production. */
function developmentRoutes(server: Server, outbox: Outbox): void {
  server.get('/api/dev/mail', {
    schema: {
      operationId: 'developmentMails',
      summary: 'In development: the newest mails as people would read them',
      tags,
      querystring: Type.Object({
        to: Type.Optional(requiredText({ examples: ['ada@example.com'] })),
      }),
      response: { 200: Type.Array(RenderedMail) },
    },
    handler: ({ query }) =>
      mailsForDevelopers(outbox, query.to === undefined ? undefined : normalName(query.to)),
  })
}
