import { originOf, TokenPairReply } from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  emailText,
  requiredText,
  type Server,
  Type,
} from '@plinth/kit/http'
import { codeRejected } from '../factors/problems.ts'
import { mailNotConfigured } from '../mail/problems.ts'
import { signInCodeDisabled } from './problems.ts'
import { requestSignInCode, type SignInCodes, signInByCode } from './sign-in-code.ts'

const tags = ['Signing in']
const bodyLimit = CREDENTIALS_BODY_BYTES

const CodeRequestBody = Type.Object({ email: emailText() }, { title: 'SignInCodeRequest' })

const CodeRequestedReply = Type.Object(
  {
    message: Type.String(),
    requestToken: Type.String({ description: 'The code works only together with it' }),
  },
  { additionalProperties: false, title: 'SignInCodeRequested' },
)

const SignInByCodeBody = Type.Object(
  {
    requestToken: requiredText({ maxLength: 200, description: 'From the request for the code' }),
    code: requiredText({ maxLength: 20, examples: ['1234-5678'] }),
  },
  { title: 'SignInByCode' },
)

/** The same whether or not the address is known. */
const message = 'If there is such an account, a mail with a code is on its way.'

/** ask for a code · sign in with it */
export function signInCodeRoutes(server: Server, codes: SignInCodes): void {
  const { gate, turnAway } = codes.accounts

  server.post('/api/auth/code', {
    bodyLimit,
    schema: {
      operationId: 'requestSignInCode',
      summary: 'Ask for a mail with a code to sign in',
      tags,
      body: CodeRequestBody,
      response: { 202: CodeRequestedReply },
      problems: [signInCodeDisabled, mailNotConfigured],
    },
    handler: async (request) => ({
      message,
      ...(await requestSignInCode(codes, request.body.email, originOf(request))),
    }),
  })

  server.post('/api/auth/code/confirm', {
    bodyLimit,
    schema: {
      operationId: 'signInByCode',
      summary: 'Sign in with the code of the mail',
      tags,
      body: SignInByCodeBody,
      response: { 200: TokenPairReply },
      problems: [
        signInCodeDisabled,
        codeRejected,
        ...(gate?.problems ?? []),
        ...(turnAway?.problems ?? []),
      ],
    },
    handler: (request) => signInByCode(codes, request.body, originOf(request)),
  })
}
