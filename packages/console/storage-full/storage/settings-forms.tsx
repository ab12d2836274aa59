import type { StorageConfig } from '@plinth/client'
import type { Reply } from '../../shared/api/api.ts'
import { Form } from '../../shared/components/form.tsx'

type SettingsProps = {
  config: StorageConfig
  save: { run(settings: object): unknown; reply?: Reply }
}

export function LocalSettings({ config, save }: SettingsProps) {
  return (
    <Form
      label="LOCAL settings"
      fields={[
        {
          label: 'Folder',
          name: 'path',
          value: config.local.path ?? '',
          hint: 'Relative to the storage root of the server, which it cannot leave.',
        },
      ]}
      action={{ ...save, run: ({ path = '' }) => save.run({ path }) }}
      send="Save settings"
    />
  )
}

export function ObjectSettings({ config: { object }, save }: SettingsProps) {
  const present = (known: boolean) =>
    known ? 'Set. Leave blank to keep it for this endpoint.' : 'Not set yet.'
  const run = ({ pathStyleAccess = '', ...settings }) =>
    save.run({ ...settings, pathStyleAccess: pathStyleAccess === 'on' })
  return (
    <Form
      label="OBJECT settings"
      fields={[
        {
          label: 'Endpoint',
          name: 'endpoint',
          type: 'url',
          value: object.endpoint ?? '',
          placeholder: 'https://s3.example.com',
        },
        { label: 'Region', name: 'region', value: object.region ?? 'us-east-1' },
        { label: 'Bucket', name: 'bucket', value: object.bucket ?? '' },
        { label: 'Access key', name: 'accessKey', hint: present(object.accessKeyPresent) },
        {
          label: 'Secret key',
          name: 'secretKey',
          type: 'password',
          hint: present(object.secretKeyPresent),
        },
      ]}
      action={{ ...save, run }}
      send="Save settings"
    >
      <label class="check">
        <input
          type="checkbox"
          name="pathStyleAccess"
          defaultChecked={object.pathStyleAccess ?? true}
        />
        Bucket in the path, as most self-hosted stores expect
      </label>
    </Form>
  )
}
