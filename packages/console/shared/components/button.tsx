import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

type ButtonProps = {
  children?: ComponentChildren
  onClick?(event: MouseEvent): void
  kind?: 'plain' | 'primary' | 'quiet' | 'danger'
  small?: boolean
  icon?: IconName
  /** The accessible name when only the icon is shown. */
  label?: string
  /** What the button acts on, for screen readers: many rows have a button of the same name. */
  subject?: string
  busy?: boolean
  /** Why the button cannot be used now; it stays focusable so that the reason can be read. */
  blocked?: string | false
  pressed?: boolean
  expanded?: boolean
  submits?: boolean
  class?: string
}

export function Button(props: ButtonProps) {
  const inactive = Boolean(props.busy || props.blocked)
  const press = (event: MouseEvent) => {
    if (!inactive) return props.onClick?.(event)
    event.preventDefault()
  }
  return (
    <button
      type={props.submits ? 'submit' : 'button'}
      class={classOf(props)}
      onClick={press}
      aria-disabled={inactive}
      aria-busy={props.busy}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
      aria-label={props.label}
      title={props.blocked || props.label}
    >
      {props.icon && <Icon name={props.icon} />}
      {props.children}
      {props.subject && <span class="visually-hidden"> {props.subject}</span>}
    </button>
  )
}

function classOf({ kind = 'plain', small, children, icon, ...props }: ButtonProps): string {
  const iconOnly = icon && children === undefined
  const names = ['button', kind, small && 'small', iconOnly && 'icon-only', props.class]
  return names.filter(Boolean).join(' ')
}

/** A link that looks like a button. */
export function ButtonLink(props: {
  href: string
  kind?: 'plain' | 'primary' | 'quiet'
  icon?: Exclude<IconName, 'open'>
  small?: boolean
  newTab?: boolean
  /** The file name under which the browser saves the target. */
  download?: string
  children: ComponentChildren
}) {
  // The icon means that a new tab opens, so only such links have it.
  const icon = props.newTab ? 'open' : props.icon
  const target = props.newTab ? { target: '_blank', rel: 'noopener noreferrer' } : {}
  return (
    <a
      class={`button ${props.kind ?? 'plain'} ${props.small ? 'small' : ''}`}
      href={props.href}
      download={props.download}
      {...target}
    >
      {icon && <Icon name={icon} />}
      {props.children}
      {props.newTab && <span class="visually-hidden"> (opens in a new tab)</span>}
    </a>
  )
}

type ConfirmProps = ButtonProps & { question: string; yes?: string; no?: string }

/** Asks for confirmation, in place, before an action that cannot be undone. */
export function ConfirmButton({ question, yes, no, ...props }: ConfirmProps) {
  const asked = useSignal<boolean | undefined>(undefined)
  const frame = useRef<HTMLSpanElement>(null)
  // The answer button that had the focus is gone.
  useEffect(() => {
    if (asked.value === false) frame.current?.querySelector('button')?.focus()
  }, [asked.value])
  const ask = (value: boolean) => () => {
    asked.value = value
  }
  const confirm = (event: MouseEvent) => {
    asked.value = false
    props.onClick?.(event)
  }
  const { busy, subject } = props
  return (
    <span ref={frame} class="confirm-frame">
      {asked.value ? (
        <Question {...{ busy, subject, yes, no }} onYes={confirm} onNo={ask(false)}>
          {question}
        </Question>
      ) : (
        <Button {...props} onClick={ask(true)} />
      )}
    </span>
  )
}

/** Yes or no. Without `onYes` it submits the form that contains it. */
export function Question(props: {
  children: string
  yes?: string
  no?: string
  busy?: boolean
  subject?: string
  onYes?(event: MouseEvent): void
  onNo(): void
}) {
  const { busy, subject, onYes, onNo } = props
  const frame = useRef<HTMLSpanElement>(null)
  // The button that asked is gone, and its focus with it. Focus "No", which changes nothing.
  useEffect(() => frame.current?.querySelector<HTMLElement>('button:last-of-type')?.focus(), [])
  const leave = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    // The same key press must not close anything else.
    event.preventDefault()
    onNo()
  }
  return (
    <span ref={frame} class="row confirm" role="alert" onKeyDown={leave}>
      <span class="small">{props.children}</span>
      <Button small kind="danger" submits={!onYes} busy={busy} subject={subject} onClick={onYes}>
        {props.yes ?? 'Yes'}
      </Button>
      <Button small subject={subject} onClick={onNo}>
        {props.no ?? 'No'}
      </Button>
    </span>
  )
}
