// A shop that runs payments inside its own program: its own sign-in decides who may do what.
import { createServer } from 'node:http'
import { createPayments } from 'plinth'

const [folder, port] = process.argv.slice(2)

// An action is the operationId of the API document.
const MAY = { alice: ['payments', 'refund'], bob: ['checkOut'] }

const payments = await createPayments({
  settings: { SUITE_DATA: folder, PAYMENTS_OPERATIONS: 'on', LOG_LEVEL: 'error' },
  authorize: (request, action, resource) => {
    const user = /(?:^|; )user=(\w+)/.exec(request.headers.cookie ?? '')?.[1]
    console.log(`${user} wants ${action} at ${resource}`)
    return MAY[user]?.includes(action) ?? false
  },
})

const shop = createServer((request, response) => {
  if (request.url.startsWith('/api/')) payments.handle(request, response)
  else response.end('The shop\n')
})
shop.listen(Number(port), 'localhost', () => console.log('open'))

process.once('SIGTERM', async () => {
  shop.close()
  await payments.close()
  process.exit(0)
})
