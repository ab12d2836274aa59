// The handlers of a Next.js route, app/api/…/route.js: a Request comes in, a Response goes out.
//
//   plinth keys create next --service identity --scope tokens:introspect
import { identityClient } from '@plinth/client/identity'
import { verifyWebhook, WebhookError } from '@plinth/client/webhooks'

const { IDENTITY_URL = 'http://localhost:8081' } = process.env
const { SERVICE_KEY, WEBHOOK_SECRET = '' } = process.env
const identity = identityClient(IDENTITY_URL, { accessToken: SERVICE_KEY })

// A table with a unique column in real life, written in the transaction of the effect.
const seen = new Set()

/** Who calls. A page only checks; where the session is in a cookie, one place refreshes it. */
export async function GET(request) {
  const [, token] = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
  const user = token ? await identity.oauth.introspect(token) : { active: false }
  if (!user.active) return new Response(null, { status: 401 })
  return Response.json({ hello: user.username })
}

/** A webhook. Read it with text(): a signature is about the bytes, not about what they mean. */
export async function POST(request) {
  try {
    const { headers } = request
    const body = await request.text()
    const event = await verifyWebhook({ secrets: WEBHOOK_SECRET, headers, body })
    if (!seen.has(headers.get('webhook-id'))) console.log(event.type, event.subject)
    seen.add(headers.get('webhook-id'))
    return new Response(null, { status: 204 })
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    return Response.json({ code: error.code }, { status: 400 })
  }
}
