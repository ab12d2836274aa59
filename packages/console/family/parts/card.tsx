import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

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

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'plain'

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

export function Skeleton() {
  return (
    <div class="skeleton" role="status">
      <span />
      <span />
      <span />
      <p class="visually-hidden">Loading</p>
    </div>
  )
}
