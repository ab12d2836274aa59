import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { shortId } from '../wording.ts'
import { Button } from './button.tsx'

const MAX_LINES = 40

/** Scrolls with the page. Shows the first lines of a long text, and the rest on request. */
export function Code({ text, label }: { text: string; label: string }) {
  const whole = useSignal(false)
  const lines = text.split('\n')
  const shown = whole.value ? text : lines.slice(0, MAX_LINES).join('\n')
  return (
    <section class="code" aria-label={label}>
      <pre>{coloured(shown)}</pre>
      {shown.length < text.length && (
        <Button
          small
          kind="quiet"
          onClick={() => {
            whole.value = true
          }}
        >
          Show all {lines.length} lines
        </Button>
      )}
    </section>
  )
}

const JSON_PARTS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g
const MAX_COLOURED = 50_000

/** Colours JSON; leaves any other text unchanged. */
function coloured(text: string): ComponentChildren {
  if (!/^\s*[[{]/.test(text) || text.length > MAX_COLOURED) return wrapping(text)
  const parts: ComponentChildren[] = []
  let end = 0
  for (const found of text.matchAll(JSON_PARTS)) {
    const [all, quoted, colon = ''] = found
    const kind = quoted ? (colon ? 'json-name' : 'json-text') : 'json-value'
    parts.push(text.slice(end, found.index))
    parts.push(<span class={kind}>{wrapping(quoted ?? all)}</span>, colon)
    end = found.index + all.length
  }
  return [...parts, text.slice(end)]
}

/** Lets long words break after their separators. */
function wrapping(text: string): ComponentChildren {
  return text
    .split(/(?<=[/?&=,;:_.-])(?=[^\s/?&=,;:_.-]{3})/)
    .flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]))
}

/** A shortened id with a button that copies the full one. */
export function Id({ of: id, href }: { of: string; href?: string }) {
  const short = <code title={id}>{shortId(id)}</code>
  return (
    <span class="id">
      {href ? <a href={href}>{short}</a> : short}
      <CopyButton text={() => id} name={`Copy ${id}`} />
    </span>
  )
}

export function CopyButton(props: {
  text(): string
  label?: string
  /** The label after copying. */
  copied?: string
  /** The label if the browser refuses. */
  notCopied?: string
  small?: boolean
  /** With this name, only the icon is shown. */
  name?: string
}) {
  const copied = useSignal<boolean | undefined>(undefined)
  const copy = async ({ currentTarget }: MouseEvent) => {
    copied.value = await copyText(props.text(), currentTarget as HTMLElement)
    setTimeout(() => {
      copied.value = undefined
    }, 2000)
  }
  const look = { icon: copied.value ? 'check' : 'copy', small: props.small ?? true } as const
  const { copied: done = 'Copied', notCopied = 'The browser did not copy it' } = props
  const outcome = copied.value ? done : notCopied
  const said = copied.value === undefined ? '' : outcome
  if (props.name)
    return (
      <>
        <Button {...look} kind="quiet" label={props.name} onClick={copy} />
        <span class="visually-hidden" role="status">
          {said}
        </span>
      </>
    )
  return (
    <Button {...look} onClick={copy}>
      {said || (props.label ?? 'Copy')}
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </Button>
  )
}

/** Over plain http a browser has no clipboard API, but it can still copy a selection. */
export async function copyText(text: string, button: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    button.after(area)
    area.select()
    const isCopied = document.execCommand('copy')
    area.remove()
    button.focus()
    return isCopied
  }
}
