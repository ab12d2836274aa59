import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Reply } from '../shared/api/api.ts'
import { baseUrl } from '../shared/api/base-url.ts'
import { concealBody } from '../shared/api/concealment.ts'
import { Code } from '../shared/components/code.tsx'
import { Badge } from '../shared/components/page.tsx'

/** The reply, with placeholders instead of secrets. */
export function ReplyView({ reply }: { reply: Reply }) {
  const { status, ok, body, content, headers } = reply
  const isJson = /json/.test(headers['content-type'] ?? '')
  const text = isJson ? JSON.stringify(concealBody(body), null, 2) : String(body)
  return (
    <section class="stack tight" aria-label="Reply">
      <p class="row" role="status">
        <Badge tone={ok ? 'good' : 'bad'}>{status || 'no answer'}</Badge>
        <span class="soft">
          {content.size} bytes {headers['content-type']}
        </span>
      </p>
      {text && <Code text={text} label="Body of the reply" />}
    </section>
  )
}

export const STREAM = 'text/event-stream'

const LAST_LINES = 40

type Streamed = { isOpen: boolean; status?: number; text: string }

/** A call whose reply continues until the reader stops it or leaves. */
export function useStream(headers: () => Record<string, string>) {
  const state = useSignal<Streamed>({ isOpen: false, text: '' })
  const stopping = useSignal<AbortController | undefined>(undefined)
  const stop = () => stopping.peek()?.abort()
  useEffect(() => stop, [])

  const start = async (path: string) => {
    const stopped = new AbortController()
    stopping.value = stopped
    state.value = { isOpen: true, text: '' }
    try {
      const { signal } = stopped
      const { status, body } = await fetch(baseUrl + path, { headers: headers(), signal })
      state.value = { isOpen: true, status, text: '' }
      const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
      for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
        const lines = (state.value.text + part.value).split('\n')
        state.value = { ...state.value, text: lines.slice(-LAST_LINES).join('\n') }
      }
    } catch {
      // Stopped, or the connection was lost: what has arrived stays.
      state.value = { status: 0, ...state.value }
    }
    state.value = { ...state.value, isOpen: false }
  }
  return { ...state.value, start, stop }
}

export function StreamView({ status, isOpen, text }: Streamed) {
  return (
    <section class="stack tight" aria-label="Reply">
      <p class="row" role="status">
        <Badge tone={status === 200 ? 'good' : 'bad'}>{status || 'no answer'}</Badge>
        <span class="soft">{isOpen ? 'Open: events are shown as they arrive.' : 'Ended.'}</span>
      </p>
      {text && <Code text={text} label="Body of the reply" />}
    </section>
  )
}
