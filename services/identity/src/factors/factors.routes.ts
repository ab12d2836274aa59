import {
  type AccountGuard,
  originOf,
  passwordQueueFull,
  TokenPairReply,
  tooManyFailures,
} from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  type Guard,
  noContent,
  orNull,
  requiredText,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import {
  checkRecoveryCode,
  confirmTotp,
  enrolTotp,
  recoveryCodesLeft,
  removeTotp,
  renewRecoveryCodes,
} from './enrolment.ts'
import { completeLogIn } from './gate.ts'
import { codeRejected, factorAbsent, factorActive } from './problems.ts'
import { type ProvePasskey, reauthenticate } from './reauthentication.ts'
import { accountSecurity, type FactorProof, type Factors } from './second-factor.ts'

const tags = ['Second factor']
const bodyLimit = CREDENTIALS_BODY_BYTES

const code = requiredText({ maxLength: 20, examples: ['123456'] })

const recoveryCode = requiredText({ maxLength: 40, examples: ['7KQ2-M9XD-4HTZ8'] })

/** Either one is enough; the route checks that one is present. */
const proof = { code: Type.Optional(code), recoveryCode: Type.Optional(recoveryCode) }

const ProofBody = Type.Object(proof, {
  title: 'SecondFactorProof',
  examples: [{ code: '123456' }],
})

const CodeBody = Type.Object({ code }, { title: 'TotpCode' })

const RecoveryCodeBody = Type.Object({ recoveryCode }, { title: 'RecoveryCode' })

const SecondStepBody = Type.Object(
  {
    mfaToken: requiredText({ maxLength: 200, description: 'From the 401 MFA_REQUIRED' }),
    ...proof,
  },
  { title: 'SecondStep', examples: [{ mfaToken: 'text', code: '123456' }] },
)

const ReauthenticationBody = Type.Object(
  {
    password: Type.Optional(requiredText({ examples: ['a long passphrase'] })),
    passkey: Type.Optional(
      Type.Object(
        {},
        { additionalProperties: {}, description: 'PublicKeyCredential.toJSON() of the browser' },
      ),
    ),
    ...proof,
  },
  {
    title: 'Reauthentication',
    description: 'The password or a passkey, and the second factor',
    examples: [{ password: 'a long passphrase' }],
  },
)

const closed = { additionalProperties: false }

const EnrolmentReply = Type.Object(
  {
    secret: Type.String({ examples: ['JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'] }),
    uri: Type.String({ description: 'Draw it as a QR code', examples: ['otpauth://totp/…'] }),
  },
  { ...closed, title: 'TotpEnrolment' },
)

const CodesReply = Type.Object(
  { recoveryCodes: Type.Array(Type.String({ examples: ['7KQ2-M9XD-4HTZ8'] })) },
  { ...closed, title: 'RecoveryCodes', description: 'Shown once; each works once' },
)

const CodesLeftReply = Type.Object(
  {
    remaining: Type.Integer(),
    createdAt: orNull(timestamp()),
    kept: Type.Boolean({
      description: 'Whether one of them has been typed back since they were issued',
    }),
  },
  { ...closed, title: 'RecoveryCodesLeft' },
)

const SecurityReply = Type.Object(
  {
    emailVerified: Type.Boolean(),
    password: Type.Boolean({ description: 'Whether the account has a password' }),
    secondFactor: Type.Boolean(),
    enrolledAt: orNull(
      Type.String({ format: 'date-time', description: 'When the second factor was turned on' }),
    ),
  },
  { ...closed, title: 'AccountSecurity' },
)

type Guards = { guard: AccountGuard; recent: Guard }

/** second step of a sign-in · security of the own account · reauthenticate · enrol, confirm, remove · recovery codes */
export function factorRoutes(
  server: Server,
  factors: Factors & { provePasskey?: ProvePasskey },
  { guard, recent }: Guards,
): void {
  server.post('/api/auth/mfa', {
    bodyLimit,
    schema: {
      operationId: 'completeLogIn',
      summary: 'Finish a sign-in with the code of the second factor',
      tags: ['Signing in'],
      body: SecondStepBody,
      response: { 200: TokenPairReply },
      problems: [
        codeRejected,
        tooManyFailures,
        ...(factors.accounts.gate?.problems ?? []),
        ...(factors.accounts.turnAway?.problems ?? []),
      ],
    },
    handler: async (request) => {
      requireProof(request.body)
      return completeLogIn(factors, request.body, originOf(request))
    },
  })

  server.get('/api/users/me/security', {
    onRequest: guard.caller,
    schema: {
      operationId: 'accountSecurity',
      summary: 'Whether your address is verified, and how your account is protected',
      tags: ['Own account'],
      response: { 200: SecurityReply },
    },
    handler: ({ caller }) => accountSecurity(factors, caller),
  })

  server.post('/api/auth/reauthenticate', {
    bodyLimit,
    onRequest: guard.caller,
    schema: {
      operationId: 'reauthenticate',
      summary: 'Prove again who you are; valid for ten minutes',
      tags: ['Signing in'],
      body: ReauthenticationBody,
      response: { 204: noContent },
      problems: [tooManyFailures, passwordQueueFull],
    },
    handler: async (request) => {
      const { password, passkey } = request.body
      if (password === undefined && passkey === undefined)
        throw validationFailed(['password: is required, or a passkey'])
      await reauthenticate(factors, request.caller, request.body, originOf(request))
    },
  })

  enrolmentRoutes(server, factors, [guard.caller, recent])
  recoveryCodeRoutes(server, factors, { guard, recent })
}

function enrolmentRoutes(server: Server, factors: Factors, onRequest: Guard[]): void {
  server.post('/api/users/me/totp', {
    onRequest,
    schema: {
      operationId: 'enrolTotp',
      summary: 'Start enrolling a second factor; a code must confirm it within ten minutes',
      tags,
      response: { 201: EnrolmentReply },
      problems: [factorActive],
    },
    handler: ({ caller }) => enrolTotp(factors, caller),
  })

  server.post('/api/users/me/totp/confirm', {
    bodyLimit,
    onRequest,
    schema: {
      operationId: 'confirmTotp',
      summary: 'Turn the second factor on with its first code; returns recovery codes',
      tags,
      body: CodeBody,
      response: { 200: CodesReply },
      problems: [factorActive, factorAbsent],
    },
    handler: async (request) => {
      const { caller, body } = request
      return { recoveryCodes: await confirmTotp(factors, caller, body.code, originOf(request)) }
    },
  })

  server.delete('/api/users/me/totp', {
    bodyLimit,
    onRequest,
    schema: {
      operationId: 'removeTotp',
      summary: 'Turn the second factor off with one of its codes',
      tags,
      body: ProofBody,
      response: { 204: noContent },
      problems: [factorAbsent, tooManyFailures],
    },
    handler: (request) => removeTotp(factors, request.caller, request.body, originOf(request)),
  })
}

function recoveryCodeRoutes(server: Server, factors: Factors, { guard, recent }: Guards): void {
  server.get('/api/users/me/recovery-codes', {
    onRequest: guard.caller,
    schema: {
      operationId: 'recoveryCodesLeft',
      summary: 'How many recovery codes you have left',
      tags,
      response: { 200: CodesLeftReply },
    },
    handler: ({ caller }) => recoveryCodesLeft(factors, caller),
  })

  server.post('/api/users/me/recovery-codes/check', {
    bodyLimit,
    onRequest: guard.caller,
    schema: {
      operationId: 'checkRecoveryCode',
      summary: 'Show that you have kept your recovery codes; spends none',
      tags,
      body: RecoveryCodeBody,
      response: { 204: noContent },
    },
    handler: ({ caller, body }) => checkRecoveryCode(factors, caller, body.recoveryCode),
  })

  server.post('/api/users/me/recovery-codes', {
    bodyLimit,
    onRequest: [guard.caller, recent],
    schema: {
      operationId: 'renewRecoveryCodes',
      summary: 'Get new recovery codes; the earlier ones stop working',
      tags,
      body: CodeBody,
      response: { 200: CodesReply },
      problems: [factorAbsent, tooManyFailures],
    },
    handler: async (request) => {
      const { caller, body } = request
      return { recoveryCodes: await renewRecoveryCodes(factors, caller, body, originOf(request)) }
    },
  })
}

function requireProof({ code, recoveryCode }: FactorProof): void {
  if (code === undefined && recoveryCode === undefined)
    throw validationFailed(['code: is required, or a recoveryCode'])
}
