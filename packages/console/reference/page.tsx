import '../shared/former-workers.ts'
import '../shared/styles/tokens.css'
import '../shared/styles/base.css'
import '../shared/styles/components.css'
import '../shared/styles/forms.css'
import './reference.css'
import { effect, signal } from '@preact/signals'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { baseUrl } from '../shared/api/base-url.ts'
import { useAction } from '../shared/api/use-reply.ts'
import { ButtonLink } from '../shared/components/button.tsx'
import { Field } from '../shared/components/form.tsx'
import { PlinthMark } from '../shared/components/icon.tsx'
import { Notice, Skeleton } from '../shared/components/page.tsx'
import { Refusal } from '../shared/components/reply.tsx'
import { AppearanceButton } from '../shared/shell/appearance.tsx'
import {
  type ApiDocument,
  api,
  matches,
  type Operation,
  operationsOf,
  readDocument,
  SENT,
  SERVICES,
  webhooksOf,
} from './api-document.ts'
import { CredentialsCard } from './credentials.tsx'
import { OperationSection } from './operation-section.tsx'

const words = signal('')

effect(() => {
  if (!api.value) return
  const { title } = api.value.info
  document.title = `${title} · API reference`
  document.documentElement.dataset.service = SERVICES[title] ?? 'reference'
})

const root = document.getElementById('app')
if (root) render(<ReferencePage />, root)

function ReferencePage() {
  const load = useAction(readDocument)
  useEffect(() => {
    load.run().then(goToAddress)
    addEventListener('keydown', focusSearch)
    return () => removeEventListener('keydown', focusSearch)
  }, [])
  return (
    <div class="reference">
      <a class="button skip" href="#main">
        Skip to the operations
      </a>
      <header class="row apart bar">
        <a class="wordmark" href={`${baseUrl}/api-test`}>
          <PlinthMark /> Plinth
        </a>
        <span class="row">
          <ButtonLink href={`${baseUrl}/openapi.json`} icon="download" download="openapi.json">
            OpenAPI
          </ButtonLink>
          <AppearanceButton />
        </span>
      </header>
      {api.value ? <Reference document={api.value} /> : <Skeleton />}
      <Refusal reply={load.refusal} />
    </div>
  )
}

/** The same keys as in the consoles. */
function focusSearch(event: KeyboardEvent): void {
  if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  const field = document.querySelector<HTMLInputElement>('nav input')
  field?.scrollIntoView({ block: 'center' })
  field?.select()
}

/** The URL may name an operation that was not rendered yet when the page opened. Adds nothing to the history. */
function goToAddress(): void {
  const { hash } = location
  if (hash === '') return
  location.replace('#')
  location.replace(hash)
}

function Reference({ document: { info, tags, ...rest } }: { document: ApiDocument }) {
  const described = { info, tags, ...rest }
  const all = [...operationsOf(described), ...webhooksOf(described)]
  const found = all.filter((operation) => matches(operation, words.value))
  const groups = [...tags, SENT]
    .map((tag) => ({ ...tag, operations: found.filter((each) => each.tags[0] === tag.name) }))
    .filter(({ operations }) => operations.length > 0)
  return (
    <div class="halves">
      <nav aria-label="Operations">
        <Field label="Search" name="search" bind={words} placeholder="Ctrl K: path, word or code" />
        <p class="soft small" role="status">
          {found.length} of {all.length} operations and events
        </p>
        {groups.map(({ name, operations }) => (
          <div key={name}>
            <h2>{name}</h2>
            <Links operations={operations} />
          </div>
        ))}
      </nav>
      <main id="main" tabIndex={-1} class="stack wide">
        <div>
          <h1>{info.title}</h1>
          <p class="soft">
            {info.description} Version {info.version}, at {baseUrl}.
          </p>
        </div>
        <CredentialsCard />
        {groups.length === 0 && <Notice>Nothing matches.</Notice>}
        {groups.map(({ name, description, operations }) => (
          <section key={name} class="stack" aria-labelledby={`tag-${name}`}>
            <div>
              <h2 id={`tag-${name}`}>{name}</h2>
              <p class="soft">{description}</p>
            </div>
            {operations.map((operation) => (
              <OperationSection key={operation.operationId} operation={operation} />
            ))}
          </section>
        ))}
      </main>
    </div>
  )
}

function Links({ operations }: { operations: Operation[] }) {
  return (
    <ul>
      {operations.map(({ operationId, method, summary }) => (
        <li key={operationId}>
          <a href={`#${operationId}`}>
            <span class="method">{method}</span> {summary}
          </a>
        </li>
      ))}
    </ul>
  )
}
