// A shop with one chair: take a payment, and be told when the money is there.
//
//   node take-payment.mjs, then open http://localhost:3000 (Node 22.13 or later, for its SQLite)
//
// Where payments asks for keys:
//   plinth keys create shop --service payments --scope payments:write --scope webhooks:write
//   SERVICE_KEY=plk_test_… node take-payment.mjs
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { paymentsClient } from '@plinth/client/payments'
import { verifyWebhook, WebhookError } from '@plinth/client/webhooks'

const { PAYMENTS_URL = 'http://localhost:8084', PORT = '3000', SERVICE_KEY } = process.env
const { SHOP_DATABASE = 'shop.db' } = process.env
const payments = paymentsClient(PAYMENTS_URL, { accessToken: SERVICE_KEY })

const db = new DatabaseSync(SHOP_DATABASE)
db.exec(`create table if not exists orders (id text primary key, state text not null);
  create table if not exists seen_events (id text primary key)`)
const addOrder = db.prepare("insert into orders (id, state) values (?, 'open')")
const findOrder = db.prepare('select state from orders where id = ?')
const setPaid = db.prepare("update orders set state = 'paid' where id = ?")
const addEvent = db.prepare('insert or ignore into seen_events (id) values (?)')

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error.message)
    response.writeHead(502).end('Please try again.')
  })
})

async function answer(request, response) {
  const [, page, id] = new URL(request.url, origin()).pathname.split('/')
  if (request.method === 'POST' && page === 'orders') return order(response)
  if (request.method === 'POST' && page === 'webhooks') return receive(request, response)
  const found = page === 'orders' && id ? findOrder.get(id) : undefined
  response.setHeader('content-type', 'text/html')
  if (found) return response.end(found.state === 'paid' ? PAID : OPEN)
  response.end('<form method="post" action="/orders"><button>Buy a chair</button></form>')
}

/** The event may take a moment: the page of the order looks again by itself. */
const OPEN = '<meta http-equiv="refresh" content="1"><p>Waiting for the payment…</p>'
const PAID = '<p>The chair is paid. Thank you!</p><p><a href="/">Back to the shop</a></p>'

/** The customer pays on the provider's page and comes back to the order. */
async function order(response) {
  const id = randomUUID()
  addOrder.run(id)
  const { checkoutUrl } = await payments.checkouts.create({
    amount: 4900,
    currency: 'eur',
    description: 'A chair',
    businessReference: id,
    attemptReference: 'first',
    successUrl: `${origin()}/orders/${id}`,
    cancelUrl: origin(),
  })
  response.writeHead(303, { location: checkoutUrl }).end()
}

/** The order is paid when the event says so: a customer may never come back. */
async function receive(request, response) {
  try {
    const body = await text(request)
    const event = await verifyWebhook({ secrets: await secret, headers: request.headers, body })
    takeIn(event)
    response.writeHead(204).end()
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    response.writeHead(400).end(error.code)
  }
}

/** An event may come twice: that it was seen is written in the transaction of its effect. */
function takeIn(event) {
  db.exec('begin immediate')
  try {
    const isNew = addEvent.run(event.id).changes === 1
    if (isNew && event.type === 'payment.paid') setPaid.run(event.data.businessReference)
    db.exec('commit')
    if (isNew) console.log(`${event.type}: order ${event.data.businessReference}`)
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}

function origin() {
  return `http://localhost:${server.address().port}`
}

/** Payments may start later than the shop. */
async function endpointSecret() {
  for (;;) {
    try {
      return await findSecret()
    } catch (error) {
      console.error(`payments: ${error.message}`)
      await new Promise((again) => setTimeout(again, 5000))
    }
  }
}

/** The endpoint of this shop is made at the first start. */
async function findSecret() {
  const url = `${origin()}/webhooks`
  const known = (await payments.endpoints.list()).find((endpoint) => endpoint.url === url)
  if (known) return (await payments.endpoints.secret(known.id)).secret
  return (await payments.endpoints.create({ url, types: ['payment.paid'] })).secret
}

await new Promise((listening) => server.listen(Number(PORT), 'localhost', listening))
// A promise, because the first event may come before the reply that has the secret.
const secret = endpointSecret()
await secret
console.log(`listening at ${origin()}`)
