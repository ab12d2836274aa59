import type { FileVerdict } from './file-check.ts'

/** The three witnesses of a file side by side: the odd one out is why it is refused. */
export function VerdictTable({ verdict }: { verdict: FileVerdict }) {
  const rows = [
    { title: 'Extension', ...verdict.extension },
    { title: 'Declared type', ...verdict.declared },
    { title: 'Bytes', ...verdict.bytes },
  ]
  return (
    <div class="notice bad" role="alert">
      <strong>{verdict.reason}</strong>
      <dl class="facts">
        {rows.map(({ title, value, kind }) => (
          <div key={title} class="witness">
            <dt>{title}</dt>
            <dd>
              <code>{value}</code> → {kind ?? 'nothing accepted here'}
            </dd>
          </div>
        ))}
      </dl>
      <p class="small">The browser looked first. The server checks again in any case.</p>
    </div>
  )
}
