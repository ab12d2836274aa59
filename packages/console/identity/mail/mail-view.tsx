import { useEffect, useMemo, useRef } from 'preact/hooks'
import './mail.css'

/** A mail as mail programs show it, and as text. Names must be unique on a page. */
export function MailView({ name, html, text }: { name: string; html: string; text: string }) {
  return (
    <div class="columns">
      <MailFrame html={html} title={`${name}, as HTML`} />
      <section class="code" aria-label={`${name}, as text`}>
        <pre>{text}</pre>
      </section>
    </div>
  )
}

/**
 * Runs no scripts, and inherits the Content-Security-Policy of this page, as documents from blob URLs do: it
 * loads nothing and forbids style attributes. A script of this page sets the styles, which the policy allows.
 */
function MailFrame({ html, title }: { html: string; title: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const address = useMemo(() => {
    const inert = html.replaceAll(/(<\w+) style="/g, '$1 data-style="')
    return URL.createObjectURL(new Blob([inert], { type: 'text/html;charset=utf-8' }))
  }, [html])
  useEffect(() => () => URL.revokeObjectURL(address), [address])
  const applyStyles = () => {
    const mail = frame.current?.contentDocument
    if (!frame.current || !mail) return
    for (const element of mail.querySelectorAll<HTMLElement>('[data-style]'))
      element.style.cssText = element.dataset.style ?? ''
    frame.current.style.height = `${mail.documentElement.scrollHeight}px`
  }
  return (
    <iframe
      ref={frame}
      class="mail"
      sandbox="allow-same-origin"
      src={address}
      title={title}
      onLoad={applyStyles}
    />
  )
}
