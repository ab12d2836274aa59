import { basePathOf, type Reply, type Request, type Server } from '@plinth/kit/http'
import { parseForm } from '../../protocol/form.ts'
import { answerChallenge, payByBank, payByCard } from '../../resources/checkout/paying.ts'
import { expireSession } from '../../resources/checkout/sessions.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { type Page, pageHeaders, renderPage } from '../layout.ts'
import { findSession, pageFor, type Step, takeStep } from './hosted.ts'
import { returnAddress, returnSources, unknownPage } from './pages.ts'

type Field = (name: string) => string

/** The page where a customer pays or cancels. It needs no script. */
export function hostedRoutes(server: Server, sandbox: Sandbox): void {
  server.get('/pay/:id', (request, reply) => show(sandbox, request, reply))
  server.get('/pay/:id/challenge', (request, reply) => show(sandbox, request, reply))

  const step = (path: string, stepOf: (field: Field) => Step) =>
    server.post(`/pay/:id/${path}`, (request, reply) => take(sandbox, request, reply, stepOf))
  step('card', (field) => (inside, id) => payByCard(inside, id, field('number'), field('expiry')))
  step('bank', (field) => (inside, id) => payByBank(inside, id, field('account')))
  step(
    'challenge',
    (field) => (inside, id) => answerChallenge(inside, id, field('accepted') === 'true'),
  )
  step('expire', () => expireSession)
}

const idOf = (request: Request) => (request.params as { id: string }).id

const pathOf = (request: Request) => `${basePathOf(request)}/pay/${idOf(request)}`

async function show(sandbox: Sandbox, request: Request, reply: Reply): Promise<Reply> {
  const session = await findSession(sandbox, idOf(request))
  if (!session) return sendPage(reply.code(404), unknownPage())
  const page = await pageFor(sandbox, session, pathOf(request))
  return sendPage(reply, page, returnSources(session))
}

/** Every step ends in a redirect, so that reloading never pays again. */
async function take(
  sandbox: Sandbox,
  request: Request,
  reply: Reply,
  stepOf: (field: Field) => Step,
): Promise<Reply> {
  const form = parseForm(String(request.body ?? ''))
  // People type card and account numbers in groups.
  const field = (name: string) =>
    typeof form[name] === 'string' ? form[name].replaceAll(/\s/g, '') : ''
  await takeStep(sandbox, idOf(request), stepOf(field))
  const session = await findSession(sandbox, idOf(request))
  if (!session) return sendPage(reply.code(404), unknownPage())
  const onward = session.status === 'complete' ? returnAddress(session) : null
  // A header cannot carry every character that a caller may put into an address.
  return reply.redirect(onward === null ? pathOf(request) : new URL(onward).href, 303)
}

function sendPage(reply: Reply, page: Page, formTargets?: string[]): Reply {
  return reply.headers(pageHeaders(formTargets)).send(renderPage(page, basePathOf(reply.request)))
}
