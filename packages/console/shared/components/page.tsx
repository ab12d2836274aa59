import { type ComponentChildren, options } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { visible } from '../wording.ts'
import { Icon, type IconName } from './icon.tsx'
import type { Tone } from './tone.ts'

/** Names and descriptions come from users, so every text is made visible; a `pre` shows it as it is. */
options.vnode = ({ type, props }) => {
  // The texts themselves, of type null, are the children that an element has passed already.
  if (!type || type === 'pre') return
  const shown = props as Record<string, unknown>
  for (const name of ['children', 'aria-label', 'title', 'alt'])
    if (name in shown) shown[name] = allVisible(shown[name])
}

function allVisible(text: unknown): unknown {
  if (Array.isArray(text)) return text.map(allVisible)
  return typeof text === 'string' ? visible(text) : text
}

/** The frame of every page. The heading takes the focus, so that screen readers announce the page. */
export function Page(props: {
  title: ComponentChildren
  about?: ComponentChildren
  /** A link back to the list that this page belongs to. */
  back?: { href: string; title: string }
  children: ComponentChildren
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  // Before the page is painted: later, it would take the focus from a field in use.
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), [])
  return (
    <div class="page">
      <header>
        {props.back && (
          <a class="back" href={props.back.href}>
            ← {props.back.title}
          </a>
        )}
        <h1 ref={heading} tabIndex={-1}>
          {props.title}
        </h1>
        {props.about && <p>{props.about}</p>}
      </header>
      {props.children}
    </div>
  )
}

export function Card(props: {
  title: ComponentChildren
  about?: ComponentChildren
  actions?: ComponentChildren
  children?: ComponentChildren
}) {
  return (
    <section class="card">
      <header>
        <div>
          <h2>{props.title}</h2>
          {props.about && <p>{props.about}</p>}
        </div>
        {props.actions && <div class="row">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  )
}

export function EmptyState(props: {
  icon: IconName
  title: string
  about: ComponentChildren
  children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      <p>{props.about}</p>
      {props.children}
    </div>
  )
}

export function Badge(props: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${props.tone ?? 'plain'}`}>{props.children}</span>
}

export function Notice(props: { tone?: Tone; children: ComponentChildren; alert?: boolean }) {
  return (
    <div class={`notice ${props.tone ?? ''}`} role={props.alert ? 'alert' : undefined}>
      {props.children}
    </div>
  )
}

export function Skeleton({ label = 'Loading' }: { label?: string }) {
  return (
    <div class="skeleton" role="status">
      <span />
      <span />
      <span />
      <p class="visually-hidden">{label}</p>
    </div>
  )
}
