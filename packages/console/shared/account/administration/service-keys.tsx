import type { IssuedServiceKey, ServiceKey } from '@plinth/client'
import type { ComponentChildren } from 'preact'
import type { Api, Reply } from '../../api/api.ts'
import type { ServiceKeyReplies } from '../../api/shared-operations.ts'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { serverNow } from '../../clock.ts'
import { ConfirmButton } from '../../components/button.tsx'
import { Code, CopyButton } from '../../components/code.tsx'
import { Form, type Values } from '../../components/form.tsx'
import { Badge, Card, Notice } from '../../components/page.tsx'
import { type Column, List } from '../../components/table.tsx'
import { facts } from '../../shell/facts.ts'
import { dateText } from '../../wording.ts'

export const ABOUT_KEYS =
  'For servers that call this service. A key is shown once, when it is made; the service keeps only its hash.'

type Props = {
  api: Api<ServiceKeyReplies>
  /** The list is reloaded whenever this changes. */
  by?: unknown
  /** Shown when the list is refused with this status: says what is required. */
  instead?(status: number): ComponentChildren
}

/** Create keys (the secret is shown once), rotate and revoke them: for every service with keys. */
export function ServiceKeys({ api, by, instead }: Props) {
  const scopes = facts.value.keyScopes ?? []
  const keys = useLoad(() => api.get('/api/service-keys'), [by])
  const make = useAction(
    ({ name = '', scopes: wanted = '' }: Values) =>
      api.post('/api/service-keys', {
        json: {
          name,
          scopes: wanted.split(/[\s,]+/).filter(Boolean),
        },
      }),
    keys.reload,
  )
  const change = useAction(
    async (
      { id }: ServiceKey,
      verb: 'rotate' | 'revoke',
    ): Promise<Reply<IssuedServiceKey | undefined>> => {
      const at = { path: { id } }
      if (verb === 'rotate') return api.post('/api/service-keys/{id}/rotate', { ...at, json: {} })
      const reply = await api.delete('/api/service-keys/{id}', at)
      return reply.ok ? { ...reply, body: undefined } : reply
    },
    keys.reload,
  )
  const other = keys.refusal && instead?.(keys.refusal.status)
  if (other) return <Notice>{other}</Notice>
  return (
    <>
      {keys.body && (
        <Card title="Make a key" about="It expires after a year, unless you rotate or revoke it.">
          <Form
            label="Make a key"
            fields={[
              { label: 'Name', name: 'name', maxLength: 100, hint: 'The server that uses it' },
              {
                label: 'Scopes',
                name: 'scopes',
                value: scopes[0],
                hint: `Separated by spaces: ${scopes.join(' ')}`,
                wide: true,
              },
            ]}
            action={make}
            send="Make a key"
            kind="primary"
            icon="key"
          />
          <Issued of={make.reply?.ok ? make.reply.body : undefined} />
        </Card>
      )}
      <Issued of={change.reply?.ok ? change.reply.body : undefined} />
      <List
        of={keys}
        action={change}
        caption="Service keys"
        records={['key', 'keys']}
        place="keys-"
        columns={[...COLUMNS, changeColumn(change.run)]}
        empty={<p class="soft">There are no keys yet.</p>}
      />
    </>
  )
}

function Issued({ of }: { of: IssuedServiceKey | undefined }) {
  if (!of?.secret) return null
  return (
    <Notice tone="good" alert>
      <p>
        <strong>Copy key {of.id} now: it is not shown again.</strong>
      </p>
      <Code text={of.secret} label={`Key ${of.id}`} />
      <CopyButton text={() => of.secret} label="Copy the key" />
    </Notice>
  )
}

const SOON_MS = 30 * 86_400_000

const hasEnded = ({ revokedAt, expiresAt }: ServiceKey) =>
  revokedAt !== null || Date.parse(expiresAt) <= serverNow.value

/** The service logs its first warning at the same time. */
const endsSoon = ({ expiresAt }: ServiceKey) => Date.parse(expiresAt) - serverNow.value < SOON_MS

const COLUMNS: Column<ServiceKey>[] = [
  { title: 'Id', of: ({ id }) => id, number: true, value: ({ id }) => id },
  { title: 'Name', of: ({ name }) => <strong>{name}</strong>, value: ({ name }) => name },
  { title: 'Key', of: ({ start }) => <code>{start}…</code> },
  {
    title: 'Scopes',
    of: ({ scopes }) => (
      <span class="row">
        {scopes.map((scope) => (
          <Badge key={scope}>{scope}</Badge>
        ))}
      </span>
    ),
  },
  {
    title: 'Last used',
    value: ({ lastUsedAt }) => lastUsedAt,
    of: ({ lastUsedAt }) => (lastUsedAt ? dateText(lastUsedAt) : 'never'),
  },
  {
    title: 'State',
    value: (key) => key.revokedAt ?? key.expiresAt,
    of: (key) => <State of={key} />,
  },
]

function State({ of: key }: { of: ServiceKey }) {
  if (key.revokedAt) return <Badge tone="bad">revoked</Badge>
  if (hasEnded(key)) return <Badge tone="bad">expired</Badge>
  return (
    <>
      until {dateText(key.expiresAt)} {endsSoon(key) && <Badge tone="warn">expires soon</Badge>}
    </>
  )
}

function changeColumn(
  change: (key: ServiceKey, verb: 'rotate' | 'revoke') => void,
): Column<ServiceKey> {
  return {
    title: 'Change',
    acts: true,
    of: (key) =>
      !hasEnded(key) && (
        <span class="row">
          <ConfirmButton
            small
            subject={key.name}
            question="Make a new key and end this one in a day?"
            onClick={() => change(key, 'rotate')}
          >
            Rotate
          </ConfirmButton>
          <ConfirmButton
            small
            kind="danger"
            subject={key.name}
            question="Revoke it now? This cannot be undone."
            yes="Revoke"
            no="Keep it"
            onClick={() => change(key, 'revoke')}
          >
            Revoke
          </ConfirmButton>
        </span>
      ),
  }
}
