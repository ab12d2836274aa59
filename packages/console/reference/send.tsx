import { type Signal, useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { Reply } from '../shared/api/api.ts'
import { concealBody } from '../shared/api/concealment.ts'
import { useAction } from '../shared/api/use-reply.ts'
import { Button } from '../shared/components/button.tsx'
import { Code, CopyButton } from '../shared/components/code.tsx'
import { Field } from '../shared/components/form.tsx'
import { Badge } from '../shared/components/page.tsx'
import type { Operation, Parameter } from './api-document.ts'
import { clientSample, curlSample, type Draft } from './code-samples.ts'
import { caller, csrfHeaders, shownHeaders } from './credentials.tsx'

const FORM = 'multipart/form-data'
const EXAMPLE_FILE = { name: 'picture.png', type: 'image/png' }

/** A form for one request: send it from here, or take it away as code. */
export function Send({ operation }: { operation: Operation }) {
  const { parameters = [], requestBody, method, security } = operation
  const json = requestBody?.content['application/json']
  const values = useSignal<Record<string, string>>(examplesOf(parameters))
  const body = useSignal(json ? JSON.stringify(json.example, null, 2) : '')
  const file = useSignal<File | undefined>(undefined)
  const parsed = json && body.value.trim() !== '' ? parse(body.value) : { value: undefined }
  const draft = draftOf(operation, values.value, parsed.value, file.value)

  const send = useAction(async () =>
    caller().send({
      method,
      path: draft.path,
      json: parsed.value,
      file: file.value,
      headers: { ...draft.headers, ...(await csrfHeaders(operation)) },
      open: security.length === 0,
    }),
  )
  const isForm = requestBody?.content[FORM] !== undefined
  return (
    <div class="send stack">
      {parameters.length > 0 && (
        <div class="columns">
          {parameters.map((parameter) => (
            <ParameterField key={parameter.name} parameter={parameter} values={values} />
          ))}
        </div>
      )}
      {json && <BodyField text={body} fault={parsed.fault} />}
      {isForm && <FileField file={file} />}
      <div class="row">
        <Button
          kind="primary"
          icon="wires"
          busy={send.busy}
          blocked={parsed.fault ?? (isForm && !file.value && 'Choose a file first')}
          onClick={() => send.run()}
          subject={operation.operationId}
        >
          Send
        </Button>
        <CopyButton
          small={false}
          label="Copy as curl"
          text={() => curlSample(operation, shown(operation, draft))}
        />
        <CopyButton
          small={false}
          label="Copy as client code"
          text={() => clientSample(operation, shown(operation, draft))}
        />
      </div>
      {send.reply && <ReplyView reply={send.reply} />}
    </div>
  )
}

function examplesOf(parameters: Parameter[]): Record<string, string> {
  const wanted = parameters.filter(({ required }) => required)
  return Object.fromEntries(wanted.map(({ name, example }) => [name, String(example ?? '')]))
}

function parse(text: string): { value?: unknown; fault?: string } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: `The body is not JSON: ${(error as Error).message}` }
  }
}

function draftOf(
  { path, parameters = [] }: Operation,
  values: Record<string, string>,
  json: unknown,
  file: File | undefined,
): Draft {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''))
  const given = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place && values[parameter.name])
      .map(({ name }) => [name, values[name] ?? ''])
  const query = new URLSearchParams(given('query')).toString()
  return {
    path: query === '' ? filled : `${filled}?${query}`,
    headers: Object.fromEntries(given('header')),
    json,
    file,
    values,
  }
}

/** The same request, fit to be pasted anywhere. */
function shown(operation: Operation, draft: Draft): Draft {
  const isForm = operation.requestBody?.content[FORM] !== undefined
  return {
    ...draft,
    headers: { ...shownHeaders(operation), ...draft.headers },
    json: concealBody(draft.json),
    file: isForm ? (draft.file ?? EXAMPLE_FILE) : undefined,
  }
}

function ParameterField(props: { parameter: Parameter; values: Signal<Record<string, string>> }) {
  const { name, in: place, required, description, schema } = props.parameter
  return (
    <div
      class="wrapped"
      onInput={(event) => {
        const { value } = event.target as HTMLInputElement
        props.values.value = { ...props.values.value, [name]: value }
      }}
    >
      <Field
        label={`${name} (${place})`}
        name={name}
        optional={!required}
        hint={description ?? schema.description}
        value={props.values.peek()[name] ?? ''}
      />
    </div>
  )
}

function BodyField({ text, fault }: { text: Signal<string>; fault?: string }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>Body</label>
      <textarea
        id={id}
        class="mono"
        rows={Math.min(16, text.peek().split('\n').length + 1)}
        spellcheck={false}
        aria-invalid={Boolean(fault)}
        aria-describedby={fault && `${id}-fault`}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value
        }}
      />
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  )
}

function FileField({ file }: { file: Signal<File | undefined> }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>File</label>
      <input
        id={id}
        type="file"
        aria-describedby={`${id}-hint`}
        onChange={(event) => {
          file.value = event.currentTarget.files?.[0]
        }}
      />
      <p class="hint" id={`${id}-hint`}>
        Run copied code in the folder of {(file.value ?? EXAMPLE_FILE).name}, or write its path
        there.
      </p>
    </div>
  )
}

/** The reply, with names in place of secrets. */
function ReplyView({ reply }: { reply: Reply }) {
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
