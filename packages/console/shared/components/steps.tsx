import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

export type StepState = 'done' | 'next' | 'later' | 'busy' | 'failed'

const SPOKEN: Record<StepState, string> = {
  done: 'done',
  next: 'next',
  later: 'not yet',
  busy: 'in progress',
  failed: 'failed',
}

export function Steps({ children }: { children: ComponentChildren }) {
  return <ol class="steps">{children}</ol>
}

export function Step(props: { title: string; state: StepState; children?: ComponentChildren }) {
  return (
    <li class={`step ${props.state}`}>
      <span class="dot">
        {props.state === 'done' && <Icon name="check" />}
        {props.state === 'failed' && <Icon name="cross" />}
      </span>
      <div class="stack tight">
        <h3>
          {props.title}
          <span class="visually-hidden"> ({SPOKEN[props.state]})</span>
        </h3>
        {props.children}
      </div>
    </li>
  )
}
