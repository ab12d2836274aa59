import type { ComponentChildren } from 'preact'
import type { Reply } from '../api/api.ts'
import { CopyButton } from './code.tsx'
import { Badge, Notice, Skeleton } from './page.tsx'

type ProblemBody = {
  title?: string
  detail?: string
  message?: string
  code?: string
  errors?: string[]
  requestId?: string
}

/** A failed reply in the words of the service. The children say what to do about it. */
export function Refusal({ reply, children }: { reply?: Reply; children?: ComponentChildren }) {
  if (!reply || reply.ok) return null
  const problem = problemOf(reply)
  return (
    <Notice tone="bad" alert>
      <div class="row apart">
        <strong>{problem.detail ?? problem.message ?? problem.title ?? 'The call failed.'}</strong>
        <span class="row">
          {problem.code && <code>{problem.code}</code>}
          <Badge tone="bad">{reply.status || 'no answer'}</Badge>
        </span>
      </div>
      {problem.errors && problem.errors.length > 0 && (
        <ul>
          {problem.errors.map((error) => (
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

function problemOf(reply: Reply): ProblemBody {
  if (reply.status === 0) return { detail: 'The server did not answer.' }
  if (typeof reply.body === 'string')
    return { detail: reply.body.slice(0, 200) || `The server answered ${reply.status}.` }
  return reply.body ?? {}
}

function adviceFor({ status, headers }: Reply): string | undefined {
  if (status === 0) return 'Check that it is running, then try again.'
  if (status === 401) return 'Sign in, refresh the session or give a fresh token, then try again.'
  if (status === 403) return 'This account is not allowed to do that.'
  if (status === 429) return `Too many tries: wait ${headers['retry-after'] ?? 'some'} seconds.`
  if (status === 503) return 'Something this service depends on is not available. Try again later.'
  if (status >= 500) return 'The fault is on the server. Its log has the request id.'
  return undefined
}

/** Says that a call has done what it should. */
export function Success({ children }: { children: ComponentChildren }) {
  return (
    <Notice tone="good">
      <p role="status">{children}</p>
    </Notice>
  )
}

export type Loading<Body> = { loading: boolean; body?: Body; refusal?: Reply }

/** What was loaded, once it is there. `forbidden` says what to do about a 403. */
export function Loaded<Body>(props: {
  of: Loading<Body>
  forbidden?: ComponentChildren
  children(body: Body): ComponentChildren
}) {
  const { loading, refusal, body } = props.of
  return (
    <>
      {loading && <Skeleton />}
      <Refusal reply={refusal}>{refusal?.status === 403 && props.forbidden}</Refusal>
      {body && props.children(body)}
    </>
  )
}
