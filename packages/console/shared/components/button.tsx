import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

type ButtonProps = {
  children?: ComponentChildren
  onClick?(event: MouseEvent): void
  kind?: 'plain' | 'primary' | 'quiet' | 'danger'
  small?: boolean
  icon?: IconName
  /** The accessible name when only the icon is shown. */
  label?: string
  /** What the button acts on, for a screen reader: many rows have a button of the same name. */
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
  /** The name under which the browser saves what is there. */
  download?: string
  children: ComponentChildren
}) {
  // The icon says that a tab opens, so it stands where one does and nowhere else.
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

/** Asks once more, in place, before it does what cannot be undone. */
export function ConfirmButton({ question, ...props }: ButtonProps & { question: string }) {
  const asked = useSignal(false)
  const ask = (value: boolean) => () => {
    asked.value = value
  }
  if (!asked.value) return <Button {...props} onClick={ask(true)} />
  const confirm = (event: MouseEvent) => {
    asked.value = false
    props.onClick?.(event)
  }
  return (
    <span class="row confirm" role="alert">
      <span class="small">{question}</span>
      <Button small kind="danger" busy={props.busy} subject={props.subject} onClick={confirm}>
        Yes
      </Button>
      <Button small subject={props.subject} onClick={ask(false)}>
        No
      </Button>
    </span>
  )
}
