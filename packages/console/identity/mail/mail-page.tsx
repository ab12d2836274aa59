import type { Mail, RenderedMail } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { AdminOnly } from '../../shared/account/session/sign-in.tsx'
import { useAction, useLoad, usePages } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { CopyButton } from '../../shared/components/code.tsx'
import { INBOX } from '../../shared/components/icon.tsx'
import { Badge, Card, EmptyState, Page } from '../../shared/components/page.tsx'
import { Loaded } from '../../shared/components/reply.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { facts } from '../../shared/shell/facts.ts'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { MailView } from './mail-view.tsx'
import { TemplatesCard } from './templates-card.tsx'

const TONES = { sent: 'good', queued: 'accent', failed: 'bad', dropped: 'warn' } as const

export function MailPage() {
  return (
    <Page title="Mail" about="What the service has sent, or tried to send, in the last 30 days.">
      {facts.value.developmentMail && <Inbox />}
      <AdminOnly session={session} to="see the outbox">
        <OutboxCard />
        <TemplatesCard />
      </AdminOnly>
    </Page>
  )
}

/** Without a mail server, everyone's mails are read here. */
function Inbox() {
  const mails = useLoad(() => session.api.get('/api/dev/mail', { open: true }))
  return (
    <Card
      title="Inbox for development"
      about="No mail server is set, so the newest mails are kept here. In production there is no such inbox."
      actions={
        <Button icon="refresh" onClick={mails.reload}>
          Reload
        </Button>
      }
    >
      <Loaded of={mails}>
        {(all) =>
          all.length === 0 ? (
            <EmptyState
              icon={INBOX}
              title="No mail yet"
              about="Register an account, or ask for a password reset."
            />
          ) : (
            all.map((mail) => <KeptMail key={mail.id} mail={mail} />)
          )
        }
      </Loaded>
    </Card>
  )
}

function KeptMail({ mail }: { mail: RenderedMail }) {
  const { code, link } = mail
  const open = useSignal(false)
  return (
    <details
      onToggle={({ currentTarget }) => {
        open.value = currentTarget.open
      }}
    >
      <summary>
        {mail.subject}{' '}
        <span class="soft">
          to {mail.to}, {dateText(mail.createdAt)}
        </span>
      </summary>
      <div class="stack tight">
        {code && (
          <div class="row">
            <span>Code</span>
            <code>{`${code.slice(0, 4)}-${code.slice(4)}`}</code>
            <CopyButton text={() => code} label="Copy the code" />
          </div>
        )}
        {link && (
          <div>
            <ButtonLink href={link} newTab small icon="link">
              Open the link
            </ButtonLink>
          </div>
        )}
        {open.value && (
          <MailView
            name={`${mail.subject} to ${mail.to}, ${dateText(mail.createdAt)}`}
            html={mail.html}
            text={mail.text}
          />
        )}
      </div>
    </details>
  )
}

function OutboxCard() {
  const mails = usePages<Mail>(
    (page, sort) => session.api.get('/api/mail', { query: `page=${page}&size=25&sort=${sort}` }),
    [],
    { sort: 'createdAt,desc' },
  )
  const retry = useAction(
    (id: string) => session.api.post('/api/mail/{id}/retry', { path: { id } }),
    mails.reload,
  )
  const sendAgain: Column<Mail> = {
    title: 'Action',
    acts: true,
    of: ({ id, state }) =>
      state === 'failed' && (
        <Button small onClick={() => retry.run(id)}>
          Send again
        </Button>
      ),
  }
  const failed = mails.body?.some(({ state }) => state === 'failed')
  return (
    <Card title="Outbox" about="The state of each mail, and the mail server's last reply.">
      <List
        of={mails}
        action={retry}
        caption="Outbox"
        records={['mail', 'mails']}
        empty={<EmptyState icon={INBOX} title="No mail" about="Nothing has been sent yet." />}
        columns={[
          { title: 'Requested', sort: 'createdAt', of: ({ createdAt }) => dateText(createdAt) },
          { title: 'Kind', of: ({ kind }) => kind },
          {
            title: 'To',
            of: ({ to }) => (
              <span class="cut single" title={to}>
                {to}
              </span>
            ),
          },
          { title: 'State', of: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
          { title: 'Attempts', of: ({ attempts }) => attempts, number: true },
          { title: 'Reply', of: ({ lastReply }) => lastReply ?? '' },
          ...(failed ? [sendAgain] : []),
        ]}
      />
    </Card>
  )
}
