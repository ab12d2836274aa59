import { useSignal } from '@preact/signals'
import { Button } from '../shared/components/button.tsx'
import { Form } from '../shared/components/form.tsx'
import { EYE } from '../shared/components/icon.tsx'
import { Badge, Card, Notice } from '../shared/components/page.tsx'
import { DEVELOPMENT_KEY, keyAccepted, useKey, usesDevelopmentKey } from './store.ts'

export function KeyCard() {
  const shown = useSignal(false)
  return (
    <Card
      title="API key"
      about="Sent with every file call as X-API-KEY. It stays in the memory of this page."
      actions={<KeyBadge />}
    >
      <Form
        label="API key"
        fields={[
          {
            label: 'Key',
            name: 'key',
            type: shown.value ? 'text' : 'password',
            value: DEVELOPMENT_KEY,
          },
        ]}
        action={{ run: ({ key = '' }) => useKey(key) }}
        send="Use this key"
        kind="primary"
        beside
        buttons={
          <Button
            icon={EYE}
            label={shown.value ? 'Hide the key' : 'Show the key'}
            pressed={shown.value}
            onClick={() => {
              shown.value = !shown.value
            }}
          />
        }
      />
      {keyAccepted.value === false && <Refused />}
    </Card>
  )
}

function KeyBadge() {
  if (keyAccepted.value === undefined) return <Badge>not tried yet</Badge>
  return keyAccepted.value ? <Badge tone="good">accepted</Badge> : <Badge tone="bad">refused</Badge>
}

function Refused() {
  return (
    <Notice tone="warn" alert>
      <p>
        <strong>
          {usesDevelopmentKey.value
            ? 'This server has its own key: enter it.'
            : 'This server refuses that key.'}
        </strong>{' '}
        The configured key is never sent to this page; ask the operator of the server.
      </p>
    </Notice>
  )
}
