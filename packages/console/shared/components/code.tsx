import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Button } from './button.tsx'

export function Code({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the keyboard.
    <section class="code" tabIndex={0} aria-label={label}>
      <pre>{coloured(text)}</pre>
    </section>
  )
}

const JSON_PARTS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g
const LONGEST_COLOURED = 50_000

/** JSON with its parts in colours; anything else as it is. */
function coloured(text: string): ComponentChildren {
  if (!/^\s*[[{]/.test(text) || text.length > LONGEST_COLOURED) return wrapping(text)
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

/** Long words break after what separates their parts. */
function wrapping(text: string): ComponentChildren {
  return text
    .split(/(?<=[/?&=,;:_.-])(?=[^\s/?&=,;:_.-]{3})/)
    .flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]))
}

export function CopyButton(props: { text(): string; label?: string; small?: boolean }) {
  const copied = useSignal(false)
  const copy = async () => {
    await navigator.clipboard.writeText(props.text())
    copied.value = true
    setTimeout(() => {
      copied.value = false
    }, 2000)
  }
  return (
    <Button icon={copied.value ? 'check' : 'copy'} small={props.small ?? true} onClick={copy}>
      {copied.value ? 'Copied' : (props.label ?? 'Copy')}
      <span class="visually-hidden" role="status">
        {copied.value ? 'Copied to the clipboard' : ''}
      </span>
    </Button>
  )
}
