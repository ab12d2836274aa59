import type { Usage } from '@plinth/client'
import { sizeText } from '../../shared/wording.ts'
import { usageText } from '../usage-text.ts'

const WIDTH = 1000

/** How the room of the caller is used: what counts in the quota in one bar, and the trash, which does not, beside it. */
export function UsageBar({ usage }: { usage: Usage }) {
  const { bytes, maxBytes, versionBytes, uploadingBytes, uploadingFiles } = usage
  const used = bytes + versionBytes + uploadingBytes
  const whole = Math.max(maxBytes ?? used, 1)
  const parts = [
    { name: 'files', bytes, text: 'Files' },
    { name: 'versions', bytes: versionBytes, text: 'Earlier versions' },
    {
      name: 'uploads',
      bytes: uploadingBytes,
      text: uploadingFiles === 1 ? '1 unfinished upload' : `${uploadingFiles} unfinished uploads`,
    },
  ]
  const counted = parts.filter((part) => part.bytes > 0)
  // What is there is seen, however little it is.
  const widths = counted.map((part) => Math.max((part.bytes / whole) * WIDTH, 4))
  const { trashFiles, trashBytes } = usage
  return (
    <section class="usage" aria-label="Usage">
      <p class="small soft">You have stored {usageText(usage)}.</p>
      {counted.length > 0 && (
        <svg
          class="usage-bar"
          viewBox={`0 0 ${WIDTH} 10`}
          preserveAspectRatio="none"
          role="img"
          aria-label={counted.map((part) => `${part.text}: ${sizeText(part.bytes)}`).join(', ')}
        >
          {counted.map((part, index) => {
            const x = widths.slice(0, index).reduce((sum, one) => sum + one, 0)
            return (
              <rect key={part.name} class={part.name} x={x} width={widths[index]} height="10" />
            )
          })}
        </svg>
      )}
      <ul class="row small">
        {counted.map(({ name, text, bytes: amount }) => (
          <li key={name}>
            <span class={`dot ${name}`} aria-hidden="true" />
            {text}: {sizeText(amount)}
          </li>
        ))}
        {trashFiles > 0 && (
          <li>
            <span class="dot trash" aria-hidden="true" />
            <a href="#/trash">Trash</a>: {sizeText(trashBytes)}, not counted
          </li>
        )}
      </ul>
    </section>
  )
}
