import type { Link, StoredFile, TemporaryLink } from '@plinth/client'
import { useEffect } from 'preact/hooks'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { serverNow } from '../../shared/clock.ts'
import { Button, ButtonLink, ConfirmButton } from '../../shared/components/button.tsx'
import { CopyButton } from '../../shared/components/code.tsx'
import { Form, faultOf } from '../../shared/components/form.tsx'
import { Card } from '../../shared/components/page.tsx'
import { QrCode } from '../../shared/components/qr-code.tsx'
import { Announced, Refusal } from '../../shared/components/reply.tsx'
import { Table } from '../../shared/components/table.tsx'
import { dateText, remainingText } from '../../shared/wording.ts'
import { session } from '../session.ts'

const createLink = (id: number, expiresInSeconds: number) =>
  session.api.post('/file/generate-pre-signed-url', { json: { id, expiresInSeconds } })

const listLinks = (id: number, silent = false) =>
  session.api.get('/file/{id}/links', { path: { id }, silent })

const POLL_MILLISECONDS = 3000

/** Opening a link elsewhere changes its count: asks outside the inspector, and reloads when there is anything new. */
function usePolling(id: number, known: Link[] | undefined, reload: () => void): void {
  useEffect(() => {
    if (!known || known.length === 0) return
    const timer = setInterval(async () => {
      if (document.hidden) return
      const reply = await listLinks(id, true)
      if (reply.ok && JSON.stringify(reply.body) !== JSON.stringify(known)) reload()
    }, POLL_MILLISECONDS)
    return () => clearInterval(timer)
  }, [id, known])
}

const revokeLink = (id: number, linkId: number) =>
  session.api.delete('/file/{id}/links/{linkId}', { path: { id, linkId } })

const PRESETS = [
  { label: '5 minutes', seconds: 300 },
  { label: '1 hour', seconds: 3600 },
  { label: '1 day', seconds: 86_400 },
  { label: '7 days', seconds: 604_800 },
]

export function LinksCard({ file }: { file: StoredFile }) {
  const links = useLoad(() => listLinks(file.id), [file.id])
  const create = useAction((seconds: number) => createLink(file.id, seconds), links.reload)
  usePolling(file.id, links.body, links.reload)
  // Opening a link in another tab changes its count.
  useEffect(() => {
    addEventListener('focus', links.reload)
    return () => removeEventListener('focus', links.reload)
  })
  const made = create.reply?.ok ? create.reply.body : undefined
  return (
    <Card
      title="Share by link"
      about="Anyone with the link can read this file until it expires. At most 7 days."
    >
      <fieldset class="choices">
        <legend>Make a link that works for</legend>
        {PRESETS.map(({ label, seconds }) => (
          <Button key={label} icon="link" busy={create.busy} onClick={() => create.run(seconds)}>
            {label}
          </Button>
        ))}
      </fieldset>
      <CustomLifetime create={create.run} fault={faultOf(create.reply, 'expiresInSeconds')} />
      <Refusal reply={create.refusal} fields={['expiresInSeconds']} />
      {made && isLive(made, links.body) && <LinkView link={made} />}
      <Refusal reply={links.refusal} />
      <LinkTable fileId={file.id} links={links.body ?? []} onChange={links.reload} />
    </Card>
  )
}

/** A link that has been revoked is no longer in the list. */
function isLive({ expiresAt }: TemporaryLink, known: Link[] | undefined): boolean {
  return !known || known.some((link) => link.expiresAt === expiresAt)
}

function CustomLifetime(props: { create(seconds: number): void; fault?: string }) {
  return (
    <details>
      <summary>Another length of time</summary>
      <Form
        label="Custom lifetime"
        fields={[
          {
            label: 'Seconds, 1 to 604800',
            name: 'seconds',
            value: '600',
            inputMode: 'numeric',
            fault: props.fault,
          },
        ]}
        action={{ run: ({ seconds }) => props.create(Number(seconds)) }}
        send="Make a link"
        beside
      />
    </details>
  )
}

function LinkView({ link }: { link: TemporaryLink }) {
  return (
    <Announced class="row">
      <QrCode text={link.url} label="QR code of the link" />
      <div class="stack tight grow">
        <strong>The link is ready.</strong>
        <code>{link.url}</code>
        <span class="small soft">
          Works until {dateText(link.expiresAt)}
          {onThisMachine(link.url) ? ', on this machine only: its address is localhost.' : '.'}
        </span>
        <div class="row">
          <CopyButton text={() => link.url} label="Copy the link" />
          <ButtonLink href={link.url} newTab small>
            Open it
          </ButtonLink>
        </div>
      </div>
    </Announced>
  )
}

function onThisMachine(url: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(new URL(url).hostname)
}

function LinkTable(props: { fileId: number; links: Link[]; onChange(): Promise<void> }) {
  const revoke = useAction((linkId: number) => revokeLink(props.fileId, linkId), props.onChange)
  if (props.links.length === 0) return null
  return (
    <>
      <Refusal reply={revoke.refusal} />
      <Table
        caption="Links to this file"
        rows={props.links}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Made', of: ({ createdAt }) => dateText(createdAt) },
          { title: 'Works for', of: ({ expiresAt }) => lifeLeft(expiresAt), number: true },
          { title: 'Opened', of: ({ openedCount }) => openedCount, number: true },
          {
            title: 'Action',
            of: ({ id }) => (
              <ConfirmButton
                small
                kind="danger"
                question="Stop this link from working?"
                yes="Stop it"
                no="Keep it"
                onClick={() => revoke.run(id)}
              >
                Revoke
              </ConfirmButton>
            ),
          },
        ]}
      />
    </>
  )
}

function lifeLeft(expiresAt: string): string {
  const left = new Date(expiresAt).getTime() - serverNow.value
  return left > 0 ? remainingText(left) : 'expired'
}
