import { useSignal } from '@preact/signals'
import { Button } from './button.tsx'

export function Code({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the keyboard.
    <section class="code" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  )
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
