import { Form } from '../../shared/components/form.tsx'
import { acceptedKinds } from '../../shared/files/file-kinds.ts'
import { chosenFilters } from './sought.ts'

/** The first halves of media types that have more than one of the accepted types. */
const GROUPS: Record<string, string> = {
  image: 'Pictures',
  video: 'Videos',
  audio: 'Audio',
  text: 'Text',
}

function typeOptions() {
  const kinds = acceptedKinds()
  const groups = Object.entries(GROUPS).filter(([half]) =>
    kinds.some(({ type }) => type.startsWith(`${half}/`)),
  )
  return [
    { value: '', label: 'Any' },
    ...groups.map(([value, label]) => ({ value, label })),
    ...kinds.map(({ type, name }) => ({ value: type, label: name })),
  ]
}

/** What a search is for is part of the address. */
export function SearchForm({ folder }: { folder: string | undefined }) {
  const { values, apply } = chosenFilters()
  const places = [
    { value: '', label: folder === undefined ? 'Everywhere' : 'Here & below' },
    ...(folder === undefined ? [] : [{ value: 'only', label: 'Only here' }]),
    ...(folder === undefined ? [] : [{ value: 'all', label: 'All folders' }]),
  ]
  return (
    <Form
      label="Search files"
      send="Search"
      icon="search"
      folds="few"
      values={values}
      fields={[
        { label: 'Words of the name', name: 'q', maxLength: 200 },
        { label: 'Type', name: 'type', options: typeOptions() },
        { label: 'Where', name: 'within', options: places },
        { label: 'Tags', name: 'tag', placeholder: 'beach, 2026' },
        { label: 'From kB', name: 'minSize', inputMode: 'decimal' },
        { label: 'To kB', name: 'maxSize', inputMode: 'decimal' },
        { label: 'Stored from', name: 'after', type: 'date' },
        { label: 'Stored until', name: 'before', type: 'date' },
      ]}
      action={{ run: apply }}
    />
  )
}
