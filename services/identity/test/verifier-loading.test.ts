import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { test } from 'node:test'
import { startPasskeyClient } from './passkey-client.ts'
import { startWithAlice } from './start-identity.ts'

/** Makes a library fail to load until the hook is deregistered. */
function breakLoading(library: string) {
  return registerHooks({
    resolve(specifier, context, next) {
      if (specifier === library) throw new Error(`${library} cannot be loaded`)
      return next(specifier, context)
    },
  })
}

test('a passkey library that fails to load is 500, and the next ceremony tries again', async (t) => {
  const { api, token } = await startWithAlice(t)
  const client = await startPasskeyClient(api)

  const broken = breakLoading('@simplewebauthn/server/helpers')
  const failed = await client.register(token)
  broken.deregister()
  const repeated = await client.register(token)

  assert.equal(failed.status, 500)
  assert.equal(failed.body.code, 'INTERNAL_ERROR')
  assert.equal(repeated.status, 200)
})
