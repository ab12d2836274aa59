import { useSignal } from '@preact/signals'
import { Button } from '../shared/components/button.tsx'
import { Code } from '../shared/components/code.tsx'
import { Badge } from '../shared/components/page.tsx'
import { type Answer, api, codesOf, type Media, type Operation, resolved } from './api-document.ts'
import { SchemaTree, typeText } from './schema-tree.tsx'
import { Send } from './send.tsx'

/** One operation: its parameters, its responses, and a form to try it. */
export function OperationSection({ operation }: { operation: Operation }) {
  const { operationId, method, path, summary, description, isSent } = operation
  const trying = useSignal(false)
  return (
    <section class="card operation" id={operationId} aria-labelledby={`${operationId}-title`}>
      <header>
        <div>
          <h3 id={`${operationId}-title`} tabIndex={-1}>
            <a href={`#${operationId}`}>{summary}</a>
          </h3>
          <p class="call">
            <Badge tone="accent">{method}</Badge> <code>{path}</code>
          </p>
        </div>
        {!isSent && (
          <Button
            expanded={trying.value}
            onClick={() => {
              trying.value = !trying.value
            }}
            subject={operationId}
          >
            Try it
          </Button>
        )}
      </header>
      {description && <p>{description.replaceAll('`', '')}</p>}
      {!isSent && <Security operation={operation} />}
      {trying.value && <Send operation={operation} />}
      <Parameters operation={operation} />
      <Body operation={operation} />
      <Answers operation={operation} />
    </section>
  )
}

function Security({ operation: { security } }: { operation: Operation }) {
  const schemes = api.value?.components.securitySchemes ?? {}
  const words = security.map((entry) =>
    Object.keys(entry)
      .map((name) => schemes[name]?.description ?? WORDS[name] ?? name)
      .join(' and '),
  )
  const text = words.length === 0 ? 'Open to everyone.' : `Needs ${words.join(', or ')}.`
  return <p class="soft small">{text.replaceAll('`', '')}</p>
}

const WORDS: Record<string, string> = {
  bearer: 'an access token',
  key: 'the key in X-API-KEY',
  signature: 'the signature of the provider',
}

function Parameters({ operation: { parameters = [] } }: { operation: Operation }) {
  if (parameters.length === 0) return null
  return (
    <>
      <h4>Parameters</h4>
      <ul class="schema">
        {parameters.map(({ name, in: place, required, schema, description }) => (
          <li key={name} class="member">
            <code>{name}</code> <span class="type">{typeText(schema)}</span>
            <span class="soft small">
              {' '}
              in the {place}
              {!required && ', optional'}
            </span>
            {description && <span class="rules soft small"> {description}</span>}
          </li>
        ))}
      </ul>
    </>
  )
}

function Body({ operation: { requestBody, operationId } }: { operation: Operation }) {
  if (!requestBody) return null
  return (
    <>
      {Object.entries(requestBody.content).map(([type, media]) => (
        <MediaView key={type} title={`Body, ${type}`} media={media} of={`${operationId} body`} />
      ))}
    </>
  )
}

function MediaView({ title, media, of }: { title: string; media: Media; of: string }) {
  const example = media.example === undefined ? '' : JSON.stringify(media.example, null, 2)
  return (
    <div class="media">
      <div>
        <h4>{title}</h4>
        {media.schema && <SchemaTree schema={media.schema} />}
      </div>
      {example.length > 2 && <Code text={example} label={`Example: ${of}`} />}
    </div>
  )
}

function Answers({ operation }: { operation: Operation }) {
  const answers = Object.entries(operation.responses)
  const [good, refused] = [
    answers.filter(([status]) => status < '400'),
    answers.filter(([status]) => status >= '400'),
  ]
  return (
    <>
      {good.map(([status, answer]) => (
        <GoodAnswer key={status} status={status} answer={answer} id={operation.operationId} />
      ))}
      {refused.length > 0 && (
        <details>
          <summary>Refusals ({refused.length})</summary>
          <dl class="refusals">
            {refused.map(([status, answer]) => (
              <div key={status}>
                <dt>
                  <Badge tone="bad">{status}</Badge>
                </dt>
                <dd>
                  <Refusals answer={answer} />
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </>
  )
}

function GoodAnswer(props: { status: string; answer: Answer; id: string }) {
  const { description, content = {}, headers = {} } = resolved(props.answer)
  const title = `${props.status} ${description}`
  const media = Object.entries(content)
  const names = Object.keys(headers).filter((name) => name !== 'X-Request-Id')
  return (
    <div>
      {media.length === 0 && <h4>{title}</h4>}
      {media.map(([type, each]) => (
        <MediaView
          key={type}
          title={`${title}, ${type}`}
          media={each}
          of={`${props.id} ${props.status}`}
        />
      ))}
      {names.length > 0 && <p class="soft small">Headers: {names.join(', ')}</p>}
    </div>
  )
}

function Refusals({ answer }: { answer: Answer }) {
  const { description } = resolved(answer)
  const codes = codesOf(answer)
  if (codes.length === 0) return <p>{description.replaceAll('`', '')}</p>
  return (
    <ul>
      {description.split('\n\n').map((line) => {
        const [code = '', detail = ''] = line.split(/`: ?/)
        return (
          <li key={line}>
            <code>{code.slice(1)}</code> {detail}
          </li>
        )
      })}
    </ul>
  )
}
