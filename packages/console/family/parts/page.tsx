import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Frame of every page. The heading takes the focus, so that a screen reader announces the move. */
export function Page(props: {
  title: ComponentChildren
  about?: ComponentChildren
  /** The way back to the list this page belongs to. */
  back?: { href: string; title: string }
  children: ComponentChildren
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])
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
