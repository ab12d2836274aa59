import { useSignal } from '@preact/signals'
import { Button } from '../shared/components/button.tsx'
import { Icon } from '../shared/components/icon.tsx'
import { Card, EmptyState } from '../shared/components/page.tsx'
import { listFiles, names, selectedName } from './store.ts'
import './file-list.css'

const MORE = 25

export function FileList() {
  const shown = useSignal(MORE)
  if (!names.value) return null
  const listed = names.value.filter(
    (name, index) => index < shown.value || name === selectedName.value,
  )
  if (names.value.length === 0)
    return (
      <EmptyState
        icon="file"
        title="The store is empty"
        about="Upload a file above: it appears here under its generated name."
      />
    )
  return (
    <Card
      title={names.value.length === 1 ? '1 file' : `${names.value.length} files`}
      about="Stored names, sorted. The original name is never used on disk."
      actions={
        <Button small icon="refresh" onClick={listFiles}>
          List again
        </Button>
      }
    >
      <ul class="picks stored-names">
        {listed.map((name) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={name === selectedName.value}
              onClick={() => {
                selectedName.value = name
              }}
            >
              <Icon name="file" />
              {name}
            </button>
          </li>
        ))}
      </ul>
      {listed.length < names.value.length && (
        <div>
          <Button
            small
            onClick={() => {
              shown.value += MORE
            }}
          >
            Show more
          </Button>
        </div>
      )}
    </Card>
  )
}
