import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { asksForProof, type Refusal as Problem, problemIn, type Reply } from '../api/api.ts'
import { CopyButton } from './code.tsx'
import { Notice, Skeleton } from './page.tsx'

/** While the top of the page reports that the service does not answer, its parts do not repeat it. */
export const outageShownAbove = signal(false)

/**
 * A failed reply in the words of the service; the inspector has its status and code. The children say
 * what to do about it. Errors that are already shown beside one of `fields` are not repeated.
 */
export function Refusal(props: { reply?: Reply; fields?: string[]; children?: ComponentChildren }) {
  const { reply, fields = [], children } = props
  if (!reply || reply.ok || (reply.status === 0 && outageShownAbove.value)) return null
  const problem = problemOf(reply)
  const said = (error: string) => fields.some((field) => error.startsWith(`${field}:`))
  const errors = problem.errors?.filter((error) => !said(error)) ?? []
  if (problem.errors?.length && errors.length === 0) return null
  return (
    <Notice tone="bad" alert>
      <strong>{problem.detail ?? problem.message ?? problem.title ?? 'The call failed.'}</strong>
      {errors.length > 0 && (
        <ul>
          {errors.map((error) => (
            <li key={error}>{error}</li>
          ))}
        </ul>
      )}
      {children || <p>{adviceFor(reply)}</p>}
      {problem.requestId && (
        <p class="row small">
          Request <code>{problem.requestId}</code>
          <CopyButton text={() => problem.requestId ?? ''} />
        </p>
      )}
    </Notice>
  )
}

function problemOf(reply: Reply): Problem {
  if (reply.status === 0) return { detail: 'The server did not answer.' }
  // The error page of a proxy.
  if (/^text\/html/.test(reply.headers['content-type'] ?? ''))
    return { detail: 'The service could not be reached: something in front of it answered.' }
  const body: unknown = reply.body
  if (typeof body === 'string') return { detail: body.slice(0, 200) || 'The call failed.' }
  return problemIn(reply) ?? {}
}

function adviceFor(reply: Reply): string | undefined {
  const { status, headers } = reply
  if (asksForProof(reply)) return 'Try again, and confirm that it is you.'
  if (status === 0) return 'Check that it is running, then try again.'
  if (status === 401) return 'Sign in, refresh the session or give a fresh token, then try again.'
  if (status === 403) return 'This account is not allowed to do that.'
  if (status === 429) return `Too many attempts: wait ${waitText(headers['retry-after'])}.`
  if (status === 502 || status === 504) return 'Check that it is running, then try again.'
  if (status === 503) return 'Something this service depends on is not available. Try again later.'
  if (status >= 500) return 'The fault is on the server. Its log has the request id.'
  return undefined
}

function waitText(seconds = 'some'): string {
  return seconds === '1' ? 'a second' : `${seconds} seconds`
}

/**
 * Announced by screen readers. The text is put into a live region that already exists: a region that
 * appears together with its text is not always announced.
 */
export function Announced(props: { class?: string; children: ComponentChildren }) {
  const isThere = useSignal(false)
  useEffect(() => {
    isThere.value = true
  }, [isThere])
  return (
    <div role="status" class={props.class}>
      {isThere.value && props.children}
    </div>
  )
}

/** Reports that a call has succeeded. */
export function Success({ children }: { children: ComponentChildren }) {
  return (
    <Notice tone="good">
      <Announced>{children}</Announced>
    </Notice>
  )
}

export type Loading<Body> = { loading: boolean; body?: Body; refusal?: Reply }

/** Shows its children once the body is loaded. */
export function Loaded<Body>(props: {
  of: Loading<Body>
  children(body: Body): ComponentChildren
}) {
  const { loading, refusal, body } = props.of
  return (
    <>
      {loading && <Skeleton />}
      <Refusal reply={refusal} />
      {body && props.children(body)}
    </>
  )
}
