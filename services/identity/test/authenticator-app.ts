import assert from 'node:assert/strict'
import type { Api, TestClock } from '@plinth/kit/testing'
import { codeOf, stepAt } from '../src/factors/totp.ts'

/** An app that scanned the secret. `code` is the current code; `next` first advances to the next one. */
export function authenticatorApp(secret: string, clock: TestClock) {
  const bytes = decodeBase32(secret)
  const code = (by = 0) => codeOf(bytes, stepAt(clock()) + by)
  return {
    code,
    next: () => {
      clock.advance(30)
      return code()
    },
    wrong: () => String((Number(code()) + 500_000) % 1_000_000).padStart(6, '0'),
  }
}

export type AuthenticatorApp = ReturnType<typeof authenticatorApp>

/** Turns the second factor on for the user of a token. */
export async function enrol(api: Api, token: string, clock: TestClock) {
  const begun = await api.post('/api/users/me/totp', undefined, { token })
  assert.equal(begun.status, 201)
  const app = authenticatorApp(begun.body.secret, clock)
  const confirmed = await api.post('/api/users/me/totp/confirm', { code: app.code() }, { token })
  assert.equal(confirmed.status, 200)
  return { app, recoveryCodes: confirmed.body.recoveryCodes as string[], uri: begun.body.uri }
}

export async function firstStep(api: Api, credentials: object): Promise<string> {
  const { status, body } = await api.post('/api/auth/login', credentials)
  assert.deepEqual([status, body.code], [401, 'MFA_REQUIRED'])
  return body.mfaToken
}

export const secondStep = (api: Api, mfaToken: string, proof: object) =>
  api.post('/api/auth/mfa', { mfaToken, ...proof })

/** Written independently of the encoder that it checks. */
function decodeBase32(text: string): Buffer {
  let bits = ''
  for (const letter of text)
    bits += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
