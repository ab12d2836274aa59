import { signal } from '@preact/signals'
import { baseUrl } from '../../api/base-url.ts'
import { PLACEHOLDER } from '../../api/concealment.ts'
import type { Exchange } from '../../api/exchange-log.ts'
import { Button } from '../../components/button.tsx'
import { Code, CopyButton } from '../../components/code.tsx'
import { sizeText, visible } from '../../wording.ts'
import { facts } from '../facts.ts'
import { curlOf, fetchOf, program, runnable } from './snippets.ts'
import { StatusBadge } from './status-badge.tsx'

export function ExchangeDetail({ exchange }: { exchange: Exchange }) {
  const { outcome } = exchange
  return (
    <>
      <div class="stack tight">
        <p class="exchange-line">
          {exchange.method} {exchange.path}
        </p>
        <p class="row small">
          <StatusBadge outcome={outcome} />
          {outcome && (
            <span class="soft">
              {Math.round(outcome.durationMs)} ms · {sizeText(outcome.sizeBytes)}
            </span>
          )}
          <span class="space" />
          <Button small icon="refresh" onClick={exchange.resend}>
            Replay
          </Button>
        </p>
      </div>
      <SnippetView exchange={exchange} />
      {exchange.requestBody !== undefined && (
        <details>
          <summary>Request body</summary>
          <Code text={JSON.stringify(exchange.requestBody, null, 2)} label="Request body" />
        </details>
      )}
      {outcome?.body && (
        <div class="stack tight">
          <h3>Response body</h3>
          <Code text={visible(outcome.body)} label="Response body" />
        </div>
      )}
      <HeaderList title="Response headers" headers={outcome?.headers ?? {}} />
      <HeaderList title="Request headers" headers={exchange.requestHeaders} />
    </>
  )
}

function HeaderList({ title, headers }: { title: string; headers: Record<string, string> }) {
  const entries = Object.entries(headers)
  if (entries.length === 0) return null
  return (
    <details>
      <summary>
        {title} ({entries.length})
      </summary>
      <dl class="headers">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}: </dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

const SECRET_HEADER = /^(authorization|x-api-key)$/i

function credentialOf({ requestHeaders }: Exchange): 'key' | 'token' | undefined {
  const header = Object.keys(requestHeaders).find((name) => SECRET_HEADER.test(name))
  if (header) return /key/i.test(header) ? 'key' : 'token'
  return undefined
}

const language = signal<'curl' | 'fetch'>('curl')

/** The request as code. Secrets are placeholders, so the text is safe to paste anywhere. */
function SnippetView({ exchange }: { exchange: Exchange }) {
  const isCurl = language.value === 'curl'
  const text = isCurl ? curlOf(exchange, baseUrl) : fetchOf(exchange, baseUrl)
  const hasAccounts = facts.value.registration !== undefined
  const credential = credentialOf(exchange)
  const fileName = exchange.requestFile?.name ?? exchange.requestPiece?.name
  const complete = (shown: Exchange) =>
    isCurl
      ? runnable(curlOf(shown, baseUrl), baseUrl, hasAccounts)
      : program(fetchOf(shown, baseUrl), { baseUrl, signsIn: hasAccounts })
  const withToken = () => {
    const requestHeaders = { ...exchange.requestHeaders, ...exchange.credentials?.() }
    return complete({ ...exchange, requestHeaders })
  }
  return (
    <section class="stack tight" aria-label="Request as code">
      <div class="row apart">
        <div class="row">
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
        <div class="row">
          <CopyButton text={() => complete(exchange)} />
          {credential && <CopyButton text={withToken} label={`Copy with my ${credential}`} />}
        </div>
      </div>
      <Code text={visible(text)} label={`The request as ${language.value}`} />
      {JSON.stringify(exchange).search(PLACEHOLDER) >= 0 && (
        <p class="small soft">
          The copied {isCurl ? 'command' : 'program'} first sets these variables.
        </p>
      )}
      {fileName !== undefined && (
        <p class="small soft">
          {isCurl
            ? `Run it in the folder of ${fileName}, or ${exchange.requestPiece ? 'write its path there' : 'put its path after the @'}.`
            : `Run it with Node in the folder of ${fileName}, or put its path there. In a browser, use a file chosen in the page instead.`}
        </p>
      )}
    </section>
  )
}
