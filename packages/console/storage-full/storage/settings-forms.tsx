import type { StorageConfig } from '@plinth/client'
import type { Reply } from '../../shared/api/api.ts'
import { Button } from '../../shared/components/button.tsx'
import { Field, Form } from '../../shared/components/form.tsx'
import { faultOf } from '../../shared/components/refusal.tsx'

type SettingsProps = { config: StorageConfig; save(settings: object): void; reply?: Reply }

export function LocalSettings({ config, save, reply }: SettingsProps) {
  return (
    <Form label="LOCAL settings" onSend={({ path = '' }) => save({ path })}>
      <Field
        label="Folder"
        name="path"
        value={config.local.path ?? ''}
        hint="Relative to the storage root of the server, which it cannot leave."
        fault={faultOf(reply, 'path')}
      />
      <div>
        <Button submits>Save settings</Button>
      </div>
    </Form>
  )
}

export function ObjectSettings({ config, save, reply }: SettingsProps) {
  const { object } = config
  const fault = (field: string) => faultOf(reply, field)
  const present = (known: boolean) => (known ? 'Set. Leave blank to keep it.' : 'Not set yet.')
  const send = ({ pathStyleAccess, ...settings }: Record<string, string>) =>
    save({ ...settings, pathStyleAccess: pathStyleAccess === 'on' })
  return (
    <Form label="OBJECT settings" onSend={send}>
      <div class="columns">
        <Field
          label="Endpoint"
          name="endpoint"
          type="url"
          value={object.endpoint ?? ''}
          placeholder="https://s3.example.com"
          fault={fault('endpoint')}
        />
        <Field
          label="Region"
          name="region"
          value={object.region ?? 'us-east-1'}
          fault={fault('region')}
        />
        <Field label="Bucket" name="bucket" value={object.bucket ?? ''} fault={fault('bucket')} />
        <Field
          label="Access key"
          name="accessKey"
          hint={present(object.accessKeyPresent)}
          fault={fault('accessKey')}
        />
        <Field
          label="Secret key"
          name="secretKey"
          type="password"
          hint={present(object.secretKeyPresent)}
          fault={fault('secretKey')}
        />
      </div>
      <label class="check">
        <input
          type="checkbox"
          name="pathStyleAccess"
          defaultChecked={object.pathStyleAccess ?? true}
        />
        Bucket in the path, as most self-hosted stores expect
      </label>
      <div>
        <Button submits>Save settings</Button>
      </div>
    </Form>
  )
}
