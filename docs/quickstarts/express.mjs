// An Express application: who calls is asked of identity, and webhooks are verified.
//
//   plinth keys create express --service identity --scope tokens:introspect
//   SERVICE_KEY=plk_test_… WEBHOOK_SECRET=whsec_… node express.mjs
import { identityClient } from '@plinth/client/identity'
import { verifyWebhook, WebhookError } from '@plinth/client/webhooks'
import express from 'express'

const { IDENTITY_URL = 'http://localhost:8081', PORT = '3000' } = process.env
const { SERVICE_KEY, WEBHOOK_SECRET = '' } = process.env
const identity = identityClient(IDENTITY_URL, { accessToken: SERVICE_KEY })
const app = express()

// A table with a unique column in real life, written in the transaction of the effect.
const seen = new Set()

// Before express.json(): a signature is about the bytes, not about what they mean.
app.post('/webhooks', express.raw({ type: '*/*' }), async ({ headers, body }, response) => {
  try {
    const event = await verifyWebhook({ secrets: WEBHOOK_SECRET, headers, body })
    if (!seen.has(headers['webhook-id'])) console.log(event.type, event.subject)
    seen.add(headers['webhook-id'])
    response.sendStatus(204)
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    response.status(400).json({ code: error.code })
  }
})

app.use(express.json())

async function requireUser(request, response, next) {
  const [, token] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? []
  const user = token ? await identity.oauth.introspect(token) : { active: false }
  if (!user.active) return response.sendStatus(401)
  request.user = user
  next()
}

app.get('/me', requireUser, ({ user }, response) => response.json({ hello: user.username }))

const server = app.listen(Number(PORT), 'localhost', () => {
  console.log(`listening at http://localhost:${server.address().port}`)
})
