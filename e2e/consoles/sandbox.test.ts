import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'
import { accessibilityFaults } from './accessibility.ts'
import { findTokens } from './token-probe.ts'
import { goTo, openConsole, sandboxPageOf } from './watched-page.ts'

const skip = await browserSkip()
const DAY_MS = 86_400_000
const JSON_BODY = { 'content-type': 'application/json' }

type Checkout = { paymentId: string; checkoutSessionId: string; status: number }

describe('the page of the sandbox provider', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser
  let sandbox: string
  let payments: string
  let orders = 0

  before(async () => {
    browser = await openBrowser(shared)
    const suite = await startSuite(shared)
    sandbox = suite.urlOf('provider-sandbox')
    payments = suite.urlOf('payments')
  })

  const open = (t: TestContext, path = '') =>
    openConsole(t, browser, `${sandboxPageOf(sandbox)}${path}`)

  /** A checkout of the payment service, whose provider is the sandbox. */
  async function checkOut(): Promise<Checkout> {
    orders += 1
    const order = { businessReference: `order-${orders}`, attemptReference: 'a1', amount: 4900 }
    const reply = await fetch(`${payments}/api/checkout/sessions`, {
      method: 'POST',
      headers: JSON_BODY,
      body: JSON.stringify({ ...order, currency: 'eur', description: 'A chair' }),
    })
    return { ...((await reply.json()) as Checkout), status: reply.status }
  }

  async function paymentOf({ paymentId }: Checkout) {
    const reply = await fetch(`${payments}/api/payments/${paymentId}`)
    return (await reply.json()) as { status: string; checkoutStatus: string }
  }

  async function read(control: string) {
    // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape it expects.
    return (await (await fetch(`${sandbox}/sandbox/api/${control}`)).json()) as any
  }

  const putBack = (t: TestContext, control: string) =>
    t.after(() => fetch(`${sandbox}/sandbox/api/${control}`, { method: 'DELETE' }))

  const press = (page: Page, action: string, { checkoutSessionId: id }: Checkout) =>
    page.getByRole('button', { name: `${action} ${id}`, exact: true }).click()

  test('takes a bank debit, settles it, and lists the money in the books', async (t) => {
    const checkout = await checkOut()
    const page = await open(t, 'sessions')

    await press(page, 'Bank debit', checkout)
    await page.getByText('The bank debit is under way').waitFor()
    await press(page, 'Settle', checkout)
    await until(
      () => paymentOf(checkout),
      ({ status }) => status === 'PAID',
    )

    await goTo(page, 'books')
    const totals = page.getByRole('region', { name: 'Totals' })
    await totals.getByRole('row', { name: /^EUR/ }).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('explains why a session cannot be paid again', async (t) => {
    const checkout = await checkOut()
    const page = await open(t, 'sessions')
    await page.getByRole('button', { name: `Pay ${checkout.checkoutSessionId}` }).waitFor()
    await page.route('**/sandbox/api/sessions', (route) => route.abort())
    const pay = `${sandbox}/sandbox/api/sessions/${checkout.checkoutSessionId}/pay`
    await fetch(pay, { method: 'POST' })

    await press(page, 'Pay', checkout)

    await page.getByRole('alert').filter({ hasText: 'Only Checkout Sessions' }).waitFor()
  })

  test('lets a pending refund fail', async (t) => {
    const checkout = await checkOut()
    const page = await open(t, 'sessions')
    await page
      .getByLabel('Card that “Pay” uses')
      .selectOption({ label: '4000 … 7726, refunds are pending first' })
    await press(page, 'Pay', checkout)
    await until(
      () => paymentOf(checkout),
      ({ status }) => status === 'PAID',
    )
    const reply = await fetch(`${payments}/api/payments/${checkout.paymentId}/refund`, {
      method: 'POST',
      headers: JSON_BODY,
      body: JSON.stringify({ reference: 'r1' }),
    })
    const refund = (await reply.json()) as { id: string; status: string }

    await goTo(page, 'refunds')
    await page.getByRole('button', { name: `Fail ${refund.id}` }).click()

    await page.getByRole('row', { name: refund.id }).getByText('failed').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('moves the clock until a checkout expires, and back to real time', async (t) => {
    const checkout = await checkOut()
    const page = await open(t, 'clock')
    putBack(t, 'clock')
    await page.getByText('real time', { exact: true }).waitFor()

    await page.getByRole('button', { name: '+1 day' }).click()
    await page.getByText(/^(1 d 0 h|23 h 59 min) ahead$/).waitFor()
    await page.getByText('Everything that became due on the way is done.').waitFor()
    assert.equal((await paymentOf(checkout)).checkoutStatus, 'EXPIRED')

    await page.getByRole('button', { name: 'Back to real time' }).click()
    await page.getByText('real time', { exact: true }).waitFor()
  })

  test('moves the clock to a moment in the future only', async (t) => {
    const page = await open(t, 'clock')
    putBack(t, 'clock')
    const moveTo = async (moment: Date) => {
      await page.getByLabel('Or to').fill(moment.toISOString().slice(0, 16))
      await page.getByRole('button', { name: 'Move there' }).click()
    }

    await moveTo(new Date(Date.now() - 2 * DAY_MS))
    await page.getByText('Choose a moment in the future of that clock.').waitFor()
    await moveTo(new Date(Date.now() + 3 * DAY_MS))

    await page.getByText(/^[23] d \d+ h ahead$/).waitFor()
    await goTo(page, '')
    await page.getByRole('link', { name: 'ahead of real time' }).waitFor()
  })

  test('causes an outage, and the service works again once it is removed', async (t) => {
    const page = await open(t, 'faults')
    putBack(t, 'faults')
    await page.getByText('No faults').waitFor()

    await page.getByLabel('What goes wrong').selectOption('outage')
    await page.getByRole('button', { name: 'Add the fault' }).click()
    await page.getByRole('row', { name: 'outage' }).waitFor()
    assert.equal((await checkOut()).status, 503)
    assert.deepEqual(await accessibilityFaults(page), [])

    await page.getByRole('button', { name: 'Remove outage' }).click()
    await page.getByText('No faults').waitFor()
    assert.equal((await checkOut()).status, 201)
  })

  test('adds a fault for a share of some calls, after showing what is wrong with an invalid one', async (t) => {
    const page = await open(t, 'faults')
    putBack(t, 'faults')

    await page.getByLabel('Which calls').fill('everything')
    await page.getByRole('button', { name: 'Add the fault' }).click()
    await page.locator('.field .fault').waitFor()
    await page.getByLabel('Which calls').fill('POST /v1/refunds')
    await page.getByLabel('How often').fill('1o')
    await page.getByRole('button', { name: 'Add the fault' }).click()
    await page.locator('.field', { hasText: 'How often' }).locator('.fault').waitFor()
    await page.getByLabel('What goes wrong').selectOption('latency')
    await page.getByLabel('How often').fill('3')
    await page.getByLabel('Share of calls').fill('50')
    await page.getByLabel('Delay in ms').fill('20')
    await page.getByRole('button', { name: 'Add the fault' }).click()
    await page.getByRole('row', { name: 'latency' }).waitFor()

    const [{ id, ...fault }] = (await read('faults')).faults
    assert.deepEqual(fault, {
      kind: 'latency',
      route: 'POST /v1/refunds',
      remaining: 3,
      probability: 0.5,
      delayMs: 20,
      retryAfterSeconds: 1,
    })
  })

  test('releases a held call', async (t) => {
    const page = await open(t, 'faults')
    putBack(t, 'faults')
    await page.getByLabel('What goes wrong').selectOption('hold')
    await page.getByLabel('How often').fill('1')
    await page.getByRole('button', { name: 'Add the fault' }).click()
    await page.getByRole('row', { name: 'hold' }).waitFor()
    const held = checkOut()
    await page.getByText('No faults').waitFor()

    await until(
      async () => {
        await page.getByRole('button', { name: 'Release held calls' }).click()
        return page.getByText(/^Released: \d+\.$/).innerText()
      },
      (words) => words !== 'Released: 0.',
    )

    assert.equal((await held).status, 201)
  })

  test('holds deliveries back and releases them', async (t) => {
    const checkout = await checkOut()
    const page = await open(t, 'switches')
    putBack(t, 'switches')

    await page.getByRole('button', { name: 'Hold them back' }).click()
    await page.locator('button[aria-pressed="true"]', { hasText: 'Hold them back' }).waitFor()
    await fetch(`${sandbox}/sandbox/api/sessions/${checkout.checkoutSessionId}/pay`, {
      method: 'POST',
    })
    await goTo(page, 'deliveries')
    await page
      .getByRole('row', { name: 'checkout.session.completed' })
      .getByText('waiting')
      .first()
      .waitFor()
    await goTo(page, 'switches')
    await page.getByRole('button', { name: 'Back to normal' }).click()
    await page.locator('button[aria-pressed="false"]', { hasText: 'Hold them back' }).waitFor()

    await until(
      () => paymentOf(checkout),
      ({ status }) => status === 'PAID',
    )
  })

  test('sets every switch of its form', async (t) => {
    const page = await open(t, 'switches')
    putBack(t, 'switches')

    await page.getByLabel('Hold deliveries back').selectOption('on')
    await page.getByLabel('Never deliver').fill('customer.created, charge.failed')
    await page.getByLabel('Delay deliveries').fill('5')
    await page.getByLabel('Extra copies').fill('1')
    await page.getByLabel('Send in reverse').fill('2')
    await page.getByLabel('All events claim the same second').selectOption('on')
    await page.getByLabel('Sign with').selectOption('both')
    await page.getByLabel('Refunds').selectOption('pending')
    await page.getByLabel('Enforce amount limits').selectOption('on')
    await page.getByRole('button', { name: 'Set the switches' }).click()
    await page.getByText('The switches are set.').waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])

    const { eventSecond, ...switches } = await read('switches')
    assert.ok(Math.abs(eventSecond - Date.now() / 1000) < 60, String(eventSecond))
    assert.deepEqual(switches, {
      paused: true,
      drop: ['customer.created', 'charge.failed'],
      delaySeconds: 5,
      duplicates: 1,
      reorder: 2,
      signWith: 'both',
      apiVersion: null,
      refunds: 'pending',
      amountLimits: true,
    })
  })

  test('shows each attempt of a delivery and sends its event again', async (t) => {
    const checkout = await checkOut()
    const page = await open(t, 'deliveries')
    await fetch(`${sandbox}/sandbox/api/sessions/${checkout.checkoutSessionId}/pay`, {
      method: 'POST',
    })
    await page.getByRole('button', { name: 'Send what is due' }).click()
    const row = page.getByRole('row', { name: 'checkout.session.completed' }).first()
    await row.getByText('delivered').waitFor()

    const before = (await read('deliveries')).length
    await row.getByRole('button', { name: /^Send again/ }).click()
    await until(
      () => read('deliveries'),
      ({ length }) => length > before,
    )
    await page.getByRole('link', { name: 'checkout.session.completed' }).last().click()

    await page.getByRole('heading', { name: 'Attempt 1' }).waitFor()
    await page.getByText(/provider-signature: t=\d+,v1=/).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('adds and removes an endpoint and shows no secret anywhere', async (t) => {
    const page = await open(t, 'deliveries')
    await page.getByRole('region', { name: 'Webhook endpoints' }).waitFor()

    await page.getByLabel('Address').fill('http://127.0.0.1:1/hook')
    await page.getByLabel('Secret', { exact: true }).fill('whsec_made_up')
    await page.getByRole('button', { name: 'Add the endpoint' }).click()
    await page.getByRole('row', { name: 'http://127.0.0.1:1/hook' }).waitFor()
    assert.deepEqual(await findTokens(page, ['whsec_', 'sk_test_']), [])

    await page.getByRole('button', { name: 'Remove http://127.0.0.1:1/hook' }).click()
    await page.getByRole('button', { name: 'Yes http://127.0.0.1:1/hook' }).click()
    await page.getByRole('row', { name: 'http://127.0.0.1:1/hook' }).waitFor({ state: 'detached' })
  })

  test('logs the calls of the service with their keys and faults', async (t) => {
    const page = await open(t, 'requests')
    putBack(t, 'faults')
    await fetch(`${sandbox}/sandbox/api/faults`, {
      method: 'POST',
      headers: JSON_BODY,
      body: JSON.stringify({ kind: 'error-before', route: 'POST /v1/checkout/sessions' }),
    })
    await checkOut()

    const struck = page.getByRole('row', { name: 'error-before' })
    await struck.getByText('500', { exact: true }).waitFor()
    await struck.getByText('POST /v1/checkout/sessions').click()

    await struck.getByText(/^Key co1:/).waitFor()
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  test('saves everything as a file, forgets it, and loads it again', async (t) => {
    const { checkoutSessionId: id } = await checkOut()
    const page = await open(t, 'scenario')
    const ids = async () => (await read('sessions')).map((session: { id: string }) => session.id)

    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Save everything as a file' }).click()
    const download = await downloading
    const file = await readFile(await download.path())
    await page.getByRole('button', { name: 'Forget everything…' }).click()
    await page.getByRole('button', { name: 'Forget everything now' }).click()
    await page.getByText('Everything is forgotten.').waitFor()
    assert.deepEqual(await ids(), [])

    const load = (buffer: Buffer) =>
      page
        .getByLabel('Saved scenario')
        .setInputFiles({ name: 'scenario.json', mimeType: 'application/json', buffer })
    await load(Buffer.from('not JSON'))
    await page.getByText('This is not a file that was saved here.').waitFor()
    await load(Buffer.from('{}'))
    await page.getByText('This is not a file that was saved here.').waitFor({ state: 'detached' })
    await page.locator('.notice.bad').waitFor()
    await load(file)
    await page.getByText('Loaded.').waitFor()

    assert.equal(download.suggestedFilename(), 'scenario.json')
    assert.ok((await ids()).includes(id))
    assert.deepEqual(await accessibilityFaults(page), [])
    assert.deepEqual(await findTokens(page, ['whsec_', 'sk_test_']), [])
  })
})
