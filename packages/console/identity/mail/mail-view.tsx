import { useEffect, useMemo, useRef } from 'preact/hooks'
import './mail.css'

/** A mail as programs show it, and as text. No two on a page have the same name. */
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
 * Without scripts, and under the policy of this page, which a document made here inherits: it loads nothing
 * and forbids style attributes. They are set by script instead, which the policy allows.
 */
function MailFrame({ html, title }: { html: string; title: string }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const address = useMemo(() => {
    const inert = html.replaceAll(/(<\w+) style="/g, '$1 data-style="')
    return URL.createObjectURL(new Blob([inert], { type: 'text/html;charset=utf-8' }))
  }, [html])
  useEffect(() => () => URL.revokeObjectURL(address), [address])
  const dress = () => {
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
      onLoad={dress}
    />
  )
}
