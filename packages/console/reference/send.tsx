import { type Signal, useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { useAction } from '../shared/api/use-reply.ts'
import { Button } from '../shared/components/button.tsx'
import { CopyButton } from '../shared/components/code.tsx'
import { Field } from '../shared/components/form.tsx'
import type { Operation, Parameter } from './api-document.ts'
import { clientSample, curlSample } from './code-samples.ts'
import { caller, csrfHeaders, noteDemoValues } from './credentials.tsx'
import { bodyOf, type Draft, draftOf } from './drafts.ts'
import { EXAMPLE_FILE, UPLOAD } from './needs.ts'
import { ReplyView, STREAM, StreamView, useStream } from './reply-view.tsx'

/** A form for one request: send it from here or copy it as code. */
export function Send({ operation }: { operation: Operation }) {
  const { parameters = [], requestBody, method, security, responses } = operation
  const taken = bodyOf(operation)
  const values = useSignal<Record<string, string>>(examplesOf(parameters))
  const body = useSignal(taken ? JSON.stringify(taken.media.example, null, 2) : '')
  const file = useSignal<File | undefined>(undefined)
  const parsed = taken && body.value.trim() !== '' ? parse(body.value) : { value: undefined }
  const draft = draftOf(operation, values.value, parsed.value, file.value)
  const stream = useStream(() => ({ ...caller().credentials(), ...draft.headers }))
  const isStream = responses[200]?.content?.[STREAM] !== undefined

  const send = useAction(async () =>
    caller().send({
      method,
      path: draft.path,
      ...(taken?.isForm
        ? { form: parsed.value as Record<string, string> }
        : { json: parsed.value }),
      file: file.value,
      headers: { ...draft.headers, ...(await csrfHeaders(operation)) },
      open: security.length === 0,
    }),
  )
  const isUpload = requestBody?.content[UPLOAD] !== undefined
  return (
    <div class="send stack">
      {parameters.length > 0 && (
        <div class="columns">
          {parameters.map((parameter) => (
            <ParameterField key={parameter.name} parameter={parameter} values={values} />
          ))}
        </div>
      )}
      {taken && <BodyField text={body} fault={parsed.fault} />}
      {isUpload && <FileField file={file} />}
      <div class="row">
        <Button
          kind="primary"
          icon="wires"
          busy={send.busy}
          blocked={parsed.fault ?? (isUpload && !file.value && 'Choose a file first')}
          onClick={() => {
            if (stream.isOpen) stream.stop()
            else if (isStream) stream.start(draft.path)
            else send.run()
          }}
          subject={operation.operationId}
        >
          {stream.isOpen ? 'Stop' : 'Send'}
        </Button>
        <CopyButton
          small={false}
          label="Copy as curl"
          text={() => copied(operation, draft, curlSample)}
        />
        <CopyButton
          small={false}
          label="Copy as client code"
          text={() => copied(operation, draft, clientSample)}
        />
      </div>
      {send.reply && <ReplyView reply={send.reply} />}
      {stream.status !== undefined && <StreamView {...stream} />}
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

type Sample = (operation: Operation, draft: Draft) => string

function copied(operation: Operation, draft: Draft, sample: Sample): string {
  noteDemoValues(operation)
  return sample(operation, draft)
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
        {file.value
          ? `Run copied code in the folder of ${file.value.name}, or put its path there.`
          : `Copied code sends a small ${EXAMPLE_FILE.name} that it makes itself.`}
      </p>
    </div>
  )
}
