import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { collectTokens } from './token-probe.ts'
import { signIn } from './watched-page.ts'

/** Signs in, lets the access token expire, logs out, and checks that the service has ended the session. */
export async function logOutExpired(page: Page, address: string): Promise<void> {
  const tokens = collectTokens(page)
  await signInExpired(page)

  await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
  await page.getByText('Not signed in.').waitFor()

  const [, first, , last] = await tokens(4)
  assert.notEqual(first, last)
  assert.equal(await refreshStatus(address, last), 401)
}

/** Signs in with an access token that looks expired to the page and is invalid to the service. */
async function signInExpired(page: Page): Promise<void> {
  await page.route('**/api/auth/login', async (route) => {
    const response = await route.fetch()
    const pair = await response.json()
    await route.fulfill({ response, json: { ...pair, accessToken: expired(pair.accessToken) } })
  })
  await signIn(page, 'user')
}

function expired(accessToken: string): string {
  const [header, claims = '', signature] = accessToken.split('.')
  const known = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const past = JSON.stringify({ ...known, iat: 1, exp: 2 })
  return [header, Buffer.from(past).toString('base64url'), signature].join('.')
}

/** The status of a refresh that is sent outside the page. */
async function refreshStatus(address: string, refreshToken = ''): Promise<number> {
  const reply = await fetch(new URL('/api/auth/refresh', address), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ refreshToken }),
  })
  return reply.status
}
