import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { baseUrl } from '../shared/api/base-url.ts'
import { useAction } from '../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../shared/components/button.tsx'
import { Card, Notice, Page } from '../shared/components/page.tsx'
import { Refusal, Success } from '../shared/components/reply.tsx'
import { api } from './api.ts'

export function ScenarioPage() {
  return (
    <Page
      title="Scenario"
      about="Everything the sandbox knows as one file: keep it, send it to a colleague, or start a test from it."
    >
      <Card
        title="Save"
        about="Sessions, payments, refunds, events, endpoints with their secrets, and the clock."
      >
        <div>
          <ButtonLink
            href={`${baseUrl}/sandbox/api/scenario`}
            download="scenario.json"
            icon="download"
          >
            Save everything as a file
          </ButtonLink>
        </div>
      </Card>
      <LoadCard />
      <ResetCard />
    </Page>
  )
}

function LoadCard() {
  const input = useRef<HTMLInputElement>(null)
  const unreadable = useSignal(false)
  const load = useAction(async (file: File) => {
    const scenario = jsonOf(await file.text())
    unreadable.value = scenario === undefined
    if (unreadable.value) return undefined
    // Not shown in the inspector: a scenario is long and contains the secrets of endpoints.
    return api.put('/sandbox/api/scenario', { json: scenario, silent: true })
  })
  return (
    <Card title="Load" about="Replaces everything with a saved file.">
      <div>
        <Button icon="upload" busy={load.busy} onClick={() => input.current?.click()}>
          Load a saved file
        </Button>
        <input
          ref={input}
          class="visually-hidden"
          type="file"
          accept=".json"
          tabIndex={-1}
          aria-label="Saved scenario"
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? []
            if (file) load.run(file)
            currentTarget.value = ''
          }}
        />
      </div>
      {unreadable.value && (
        <Notice tone="bad" alert>
          <p>This is not a file that was saved here.</p>
        </Notice>
      )}
      <Refusal reply={load.refusal} />
      {load.reply?.ok && (
        <Success>Loaded. Everything is as it was when the file was saved.</Success>
      )}
    </Card>
  )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function ResetCard() {
  const asked = useSignal(false)
  const reset = useAction(() => api.post('/sandbox/api/reset'))
  return (
    <Card
      title="Reset"
      about="Forgets everything except the endpoint from the settings, and goes back to real time."
    >
      <div class="row">
        <Button
          kind="danger"
          icon="trash"
          busy={reset.busy}
          onClick={async () => {
            if (asked.value) await reset.run()
            asked.value = !asked.value
          }}
        >
          {asked.value ? 'Forget everything now' : 'Forget everything…'}
        </Button>
        {asked.value && <span class="small">This cannot be undone. Save a file first?</span>}
        <span class="small" role="status">
          {reset.reply?.ok && !asked.value && 'Everything is forgotten.'}
        </span>
      </div>
      <Refusal reply={reset.refusal} />
    </Card>
  )
}
