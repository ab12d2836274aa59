import { signal } from '@preact/signals'
import type { Exchange } from '../api/exchange-log.ts'
import { curlOf, fetchOf } from '../api/snippets.ts'
import { Button } from '../parts/button.tsx'
import { Code, CopyButton } from '../parts/code.tsx'

const language = signal<'curl' | 'fetch'>('curl')

/** The request as code. Secrets appear by name only, so the text is safe to paste anywhere. */
export function SnippetView({ exchange }: { exchange: Exchange }) {
  const render = language.value === 'curl' ? curlOf : fetchOf
  const text = render(exchange, location.origin)
  return (
    <section class="stack tight" aria-label="Request as code">
      <div class="row apart">
        <div class="tabs">
          {(['curl', 'fetch'] as const).map((name) => (
            <Button
              key={name}
              small
              pressed={language.value === name}
              onClick={() => {
                language.value = name
              }}
            >
              {name}
            </Button>
          ))}
        </div>
        <CopyButton text={() => text} />
      </div>
      <Code text={text} label={`The request as ${language.value}`} />
    </section>
  )
}
