import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { FOLDER, openApiDocuments } from './openapi.ts'

type Operation = {
  operationId?: string
  summary?: string
  tags?: string[]
  security?: object[]
  responses: Record<string, object>
  parameters?: { name?: string; $ref?: string }[]
}
type Example = { source: string; subject: string; data: Record<string, unknown> }
type Content = { 'application/json': { example: Example } }
type ApiDocument = {
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, { post: Operation & { requestBody: { content: Content } } }>
}

describe('docs/openapi', () => {
  let documents: Record<string, string>
  before(async () => {
    documents = await openApiDocuments()
  })

  test('is up to date; `node test/documents/openapi.ts` updates it', () => {
    assert.deepEqual(
      readdirSync(FOLDER).sort(),
      Object.keys(documents)
        .map((name) => `${name}.json`)
        .sort(),
    )
    for (const [name, text] of Object.entries(documents))
      assert.equal(readFileSync(join(FOLDER, `${name}.json`), 'utf8'), text, name)
  })

  test('documents the range headers of downloads and the signature headers of webhooks', () => {
    const all = Object.values(documents).map((text): ApiDocument => JSON.parse(text))
    const gets = all.flatMap(({ paths }) => Object.values(paths).flatMap(({ get }) => get ?? []))
    const downloads = gets.filter(({ responses }) => '206' in responses)
    const webhooks = all.flatMap((one) => Object.values(one.webhooks ?? {}))

    assert.ok(downloads.length > 0 && webhooks.length > 0)
    for (const { parameters = [], operationId } of downloads)
      for (const header of ['Range', 'If-Range'])
        assert.ok(
          parameters.some(({ name }) => name === header),
          `${operationId} ${header}`,
        )
    for (const { post } of webhooks)
      assert.deepEqual(
        post.parameters?.map(({ $ref }) => $ref?.split('/').at(-1)),
        ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
      )
  })

  test('shows events of the service itself, and what each is about', () => {
    const shown = Object.entries(documents).flatMap(([name, text]) => {
      const { webhooks = {} }: ApiDocument = JSON.parse(text)
      return Object.entries(webhooks).map(([type, { post }]) => {
        const { source, subject } = post.requestBody.content['application/json'].example
        assert.equal(source, name)
        return [`${name} ${type}`, subject]
      })
    })

    const subjects: Record<string, string> = Object.fromEntries(shown)
    assert.equal(subjects['identity user.registered'], 'user:1')
    assert.equal(subjects['identity service_key.created'], 'key:1')
    assert.equal(subjects['storage-full file.moved'], 'file:1')
    assert.equal(subjects['storage-full link.used'], 'link:1')
    assert.equal(subjects['storage-full ping'], 'ep_2f1c7a9b8e6d5f4c3a2b1908')
    assert.equal(subjects['payments refund.failed'], 're_A1b2C3')
    assert.match(subjects['payments payment.paid'] ?? '', /^[\da-f-]{36}$/)
  })

  test('shows an example of each event that fits its type', () => {
    const all = Object.values(documents).map((text): ApiDocument => JSON.parse(text))
    const examples = all.flatMap(({ webhooks = {} }) =>
      Object.entries(webhooks).map(([type, { post }]) => {
        const { cause, status, checkoutStatus } =
          post.requestBody.content['application/json'].example.data
        return [type, [cause ?? status, checkoutStatus].filter(Boolean).join(' ')]
      }),
    )
    const telling = examples.filter(([, example]) => example !== '')

    assert.deepEqual(Object.fromEntries(telling), {
      'user.registered': 'REGISTER',
      'user.updated': 'ROLES_CHANGED',
      'user.disabled': 'USER_DISABLED',
      'user.deleted': 'USER_DELETED',
      'user.verified': 'EMAIL_VERIFIED',
      'user.email_changed': 'EMAIL_CHANGED',
      'session.revoked': 'SESSION_REVOKED',
      'passkey.added': 'PASSKEY_ADDED',
      'passkey.removed': 'PASSKEY_REMOVED',
      'mfa.enabled': 'TOTP_ADDED',
      'mfa.disabled': 'TOTP_REMOVED',
      'identity.linked': 'IDENTITY_LINKED',
      'identity.unlinked': 'IDENTITY_UNLINKED',
      'payment.created': 'PENDING OPEN',
      'payment.paid': 'PAID COMPLETE',
      'payment.failed': 'FAILED COMPLETE',
      'payment.expired': 'PENDING EXPIRED',
      'refund.succeeded': 'succeeded',
      'refund.failed': 'failed',
    })
  })

  test('gives every route a unique operationId, a summary, a known tag, security and replies', () => {
    for (const [name, text] of Object.entries(documents)) {
      const { tags, paths }: ApiDocument = JSON.parse(text)
      const known = tags.map((tag) => tag.name)
      const seen = new Set<string>()
      for (const [path, methods] of Object.entries(paths))
        for (const [method, operation] of Object.entries(methods)) {
          const at = `${name}: ${method} ${path}`
          const { operationId = '', summary = '', security, responses } = operation
          assert.match(operationId, /^[a-z][A-Za-z]+$/, at)
          assert.ok(!seen.has(operationId), `${at}: ${operationId} is used twice`)
          seen.add(operationId)
          assert.ok(summary.length > 3 && summary.length < 80, at)
          assert.ok(operation.tags?.length === 1 && known.includes(operation.tags[0] ?? ''), at)
          assert.ok(Array.isArray(security), at)
          assert.ok(
            Object.keys(responses).some((status) => status < '400'),
            at,
          )
        }
    }
  })
})
