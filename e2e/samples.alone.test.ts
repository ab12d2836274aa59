import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { identityClient, ProblemError, storageClient } from '@plinth/client'
import { suiteCleanup } from '../test/suite-cleanup.ts'
import { type Ran, sampleFolder } from './sample-folder.ts'
import { type Operation, operationsAt, samplesOf } from './samples.ts'
import { startSuite } from './stack.ts'

const PASSWORD = 'password123123'

/** What only a person has, by operation: from a mail, an authenticator, another site, or an earlier call. */
const ASKED: Record<string, string[]> = {
  confirmPasswordReset: ['CODE'],
  linkState: ['TOKEN'],
  denyOwnership: ['TOKEN'],
  verifyEmail: ['CODE'],
  pendingVerification: ['TOKEN'],
  pendingEmailChange: ['TOKEN'],
  confirmEmailChange: ['CODE'],
  undoEmailChange: ['TOKEN'],
  signInByCode: ['REQUEST_TOKEN', 'CODE'],
  startProviderSignIn: ['PROVIDER'],
  finishProviderSignIn: ['TICKET'],
  requestProviderSignUp: ['SIGN_UP_TOKEN'],
  confirmProviderSignUp: ['SIGN_UP_TOKEN', 'CODE'],
  linkIdentity: ['LINK_TOKEN'],
  startIdentityLink: ['PROVIDER'],
  unlinkIdentity: ['IDENTITY_ID'],
  removeIdentityOfUser: ['IDENTITY_ID'],
  testProvider: ['PROVIDER'],
  keepOwnAccount: ['TOKEN'],
  downloadExport: ['TOKEN'],
  retryMail: ['MAIL_ID'],
  removePasskey: ['CREDENTIAL_ID'],
  removePasskeyOfUser: ['CREDENTIAL_ID'],
  completeLogIn: ['MFA_TOKEN', 'CODE'],
  removeTotp: ['CODE'],
  confirmTotp: ['CODE'],
  renewRecoveryCodes: ['CODE'],
  checkRecoveryCode: ['RECOVERY_CODE'],
  revokeGrant: ['CLIENT_ID'],
  revokeGrantOfUser: ['CLIENT_ID'],
  authorizationAnswer: ['AUTHORIZATION'],
  authorization: ['AUTHORIZATION_ID'],
  decideAuthorization: ['AUTHORIZATION_ID'],
  confirmSignOut: ['SIGN_OUT_ID'],
  authorize: ['CLIENT_ID'],
  authorizeByForm: ['CLIENT_ID'],
  pushAuthorizationRequest: ['CLIENT_ID'],
  authorizeDevice: ['CLIENT_ID'],
  uploadById: ['UPLOAD_ID'],
  uploadState: ['UPLOAD_ID'],
  appendToUpload: ['UPLOAD_ID'],
  cancelUpload: ['UPLOAD_ID'],
  restore: ['FILE_ID'],
  refund: ['PAYMENT_ID'],
  refundState: ['REFUND_ID'],
  webhookEvent: ['WEBHOOK_EVENT_ID'],
  retryWebhookEvent: ['WEBHOOK_EVENT_ID'],
}

/** Payments has no sign-in: only the holder of a key can make another one. */
const ASKED_OF_PAYMENTS: Record<string, string[]> = {
  createServiceKey: ['SERVICE_KEY'],
  serviceKeys: ['SERVICE_KEY'],
  rotateServiceKey: ['SERVICE_KEY'],
  revokeServiceKey: ['SERVICE_KEY'],
}

/** What a fresh start refuses, whatever one sends: a part of the reply. */
const REFUSED: Record<string, string> = {
  requestSignInCode: 'SIGN_IN_CODE_DISABLED',
  keepUser: 'NO_DELETION_PENDING',
  removeTotpOfUser: 'SECOND_FACTOR_NOT_FOUND',
  registerClient: 'Clients cannot register themselves here',
  // Only the tokens of an application have scopes of OpenID.
  userInfo: 'insufficient_scope',
  userInfoByForm: 'insufficient_scope',
  // A browser signs the challenge.
  logInWithPasskey: 'INVALID_CREDENTIALS',
  addPasskey: 'PASSKEY_REGISTRATION_FAILED',
  openDeviceAuthorization: 'USER_CODE_UNKNOWN',
  testObject: 'STORAGE_TEST_FAILED',
  providerWebhook: 'SIGNATURE_MISSING',
}

/** Run last, because other samples could not sign in afterwards. */
const ENDING = ['changePassword', 'deleteUser', 'deleteOwnAccount']

describe('every sample of the reference runs as copied after a fresh start', () => {
  const shared = suiteCleanup()
  let urlOf: (service: string) => string
  let folder: Awaited<ReturnType<typeof sampleFolder>>

  before(async () => {
    // Without earlier versions there would be none to restore.
    urlOf = (await startSuite(shared, { STORAGE_FULL_VERSIONS: '1' })).urlOf
    folder = await sampleFolder(shared)
  })

  for (const service of ['identity', 'storage-full', 'storage-key', 'payments'])
    for (const kind of ['curl', 'client'] as const)
      test(`${service}: ${kind}`, async () => {
        const url = urlOf(service)
        const operations = await operationsAt(url)
        const faults: string[] = []

        for (const operation of endingLast(operations)) {
          const sample = samplesOf(operation, url)[kind]
          const ran = await folder[kind](sample)
          const fault = faultOf(operation, ran, service)
          if (fault) faults.push(`${fault}\n${sample}\n${ran.output}${ran.errors}`)
          await REPAIRS[operation.operationId]?.(service, url)
        }

        assert.equal(faults.join('\n\n'), '')
      })

  test('the stream of events keeps running, as it should', async () => {
    const url = urlOf('identity')
    const operations = await operationsAt(url)
    const stream = operations.find(({ operationId }) => operationId === 'eventStream')
    assert.ok(stream)

    const ran = await folder.curl(
      samplesOf(stream, url).curl.replace('curl -X GET', 'curl -m 2 -X GET'),
    )

    assert.equal(ran.code, 28)
  })
})

/** Without the stream, which does not end. */
function endingLast(operations: Operation[]): Operation[] {
  const isLast = ({ operationId }: Operation) => ENDING.includes(operationId)
  const ended = operations.filter(({ operationId }) => operationId !== 'eventStream')
  return [...ended.filter((each) => !isLast(each)), ...ended.filter(isLast)]
}

const PROBLEM = /^(?:[A-Z_]+: )*(?:\{"type":"about:blank"|\{"timestamp"|\{"error"|[45]\d\d\b)/

function faultOf({ operationId }: Operation, { code, output, errors }: Ran, service: string) {
  const [questions = ''] = /^(?:[A-Z_]+: )+/.exec(output) ?? []
  const asked = questions.split(': ').slice(0, -1)
  const more = service === 'payments' ? ASKED_OF_PAYMENTS[operationId] : undefined
  const wanted = [...(more ?? []), ...(ASKED[operationId] ?? [])]
  if (String(asked) !== String(wanted))
    return `${operationId} asks for ${asked.join(', ') || 'nothing'}`
  if (wanted.length > 0) return undefined
  const refusal = REFUSED[operationId]
  if (refusal !== undefined)
    return `${output}${errors}`.includes(refusal) ? undefined : `${operationId} is not ${refusal}`
  if (code !== 0) return `${operationId} ends with ${code}`
  if (output.trim() === '') return `${operationId} prints nothing`
  return PROBLEM.test(output) ? `${operationId} is refused` : undefined
}

/** Lets the next sample sign in again. */
const REPAIRS: Record<string, (service: string, url: string) => Promise<unknown>> = {
  changePassword: async (service, url) => {
    const client = service === 'identity' ? identityClient(url) : storageClient(url)
    await client.logIn('user', 'a long passphrase')
    await client.account.changePassword('a long passphrase', PASSWORD)
  },
  deleteUser: (_, url) => keep(url),
  deleteOwnAccount: (_, url) => keep(url),
}

/** If the account is about to be erased, its token cancels that. */
async function keep(url: string): Promise<void> {
  const client = identityClient(url)
  const refused = await client.logIn('user', PASSWORD).catch((error: unknown) => error)
  if (!(refused instanceof ProblemError)) return
  await client.account.keep(String(refused.problem.token))
}
