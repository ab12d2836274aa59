import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { identityClient, paymentsClient, storageClient, storageKeyClient } from '@plinth/client'
import { FOLDER } from './openapi.ts'

type ApiDocument = { paths: Record<string, Record<string, { operationId: string }>> }

const URL = 'http://localhost'
const CLIENTS = {
  identity: identityClient(URL),
  'storage-full': storageClient(URL),
  'storage-key': storageKeyClient(URL, 'key'),
  payments: paymentsClient(URL),
}

/** Pages for browsers, and the webhook that only the payment provider calls. */
const NOT_FOR_CLIENTS = ['console', 'accountPages', 'reference', 'providerWebhook']

describe('@plinth/client has a method for every operation in docs/openapi', () => {
  for (const [service, client] of Object.entries(CLIENTS))
    test(`${service}: each method is named after its operationId`, () => {
      const text = readFileSync(join(FOLDER, `${service}.json`), 'utf8')
      const { paths }: ApiDocument = JSON.parse(text)
      const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
      const names = operations.map(({ operationId }) => operationId)
      assert.ok(names.length > 8)

      const missing = names.filter((name) => !NOT_FOR_CLIENTS.includes(name) && !(name in client))

      assert.deepEqual(missing, [], 'add them in packages/client/src')
    })
})
