// A Fastify application: who calls is asked of identity, and webhooks are verified.
//
//   plinth keys create fastify --service identity --scope tokens:introspect
//   SERVICE_KEY=plk_test_… WEBHOOK_SECRET=whsec_… node fastify.mjs
import { identityClient } from '@plinth/client/identity'
import { verifyWebhook, WebhookError } from '@plinth/client/webhooks'
import Fastify from 'fastify'

const { IDENTITY_URL = 'http://localhost:8081', PORT = '3000' } = process.env
const { SERVICE_KEY, WEBHOOK_SECRET = '' } = process.env
const identity = identityClient(IDENTITY_URL, { accessToken: SERVICE_KEY })
const app = Fastify()

// A table with a unique column in real life, written in the transaction of the effect.
const seen = new Set()

// A scope of its own: here, and only here, bodies stay bytes.
app.register(async (scope) => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  scope.post('/webhooks', async ({ headers, body }, reply) => {
    try {
      const event = await verifyWebhook({ secrets: WEBHOOK_SECRET, headers, body })
      if (!seen.has(headers['webhook-id'])) console.log(event.type, event.subject)
      seen.add(headers['webhook-id'])
      return reply.code(204).send()
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error
      return reply.code(400).send({ code: error.code })
    }
  })
})

app.decorateRequest('user', null)

async function requireUser(request, reply) {
  const [, token] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? []
  const user = token ? await identity.oauth.introspect(token) : { active: false }
  if (!user.active) return reply.code(401).send()
  request.user = user
}

app.get('/me', { onRequest: requireUser }, ({ user }) => ({ hello: user.username }))

console.log(`listening at ${await app.listen({ port: Number(PORT), host: 'localhost' })}`)
