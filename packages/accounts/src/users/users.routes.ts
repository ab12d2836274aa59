import {
  CREDENTIALS_BODY_BYTES,
  type Guard,
  IdPath,
  noContent,
  pageQuery,
  pageRequest,
  pathId,
  type Server,
} from '@plinth/kit/http'
import { type AccountGuard, type Accounts, ADMIN_ROLE } from '../accounts.ts'
import { byCaller, originOf } from '../audit/audit.ts'
import { passwordQueueFull } from '../passwords/pool.ts'
import {
  deletionPending,
  emailTaken,
  lastAdministrator,
  registrationClosed,
  tooManyFailures,
  usernameTaken,
  userUnknown,
} from '../problems.ts'
import { changeUser } from './changes.ts'
import { changeOwnPassword } from './own-password.ts'
import { registerSelf, requireOpenRegistration } from './registration.ts'
import {
  HeldReply,
  ProfileReply,
  passwordChangeBody,
  RegistrationReply,
  registrationBody,
  UserChangeBody,
  UserDetailsReply,
  UserReply,
  UserSearchQuery,
  UsersReply,
} from './schemas.ts'
import { searchUsers } from './search.ts'
import { ownProfile, USER_SORTS, userDetails } from './users.ts'

/** The same body whether or not the address is known. */
const HELD = {
  message: 'A mail is on its way. The account is created when its address is confirmed.',
}

const own = ['Own account']
const administration = ['Users']

/** register · me · own password · list · enable, disable, roles */
export function userRoutes(
  server: Server,
  accounts: Accounts,
  guard: AccountGuard,
  /** Further guards for changes to an account. */
  ...recent: Guard[]
): void {
  const { passwordMinLength } = accounts.settings
  const { confirmation } = accounts

  server.post('/api/auth/register', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    onRequest: async () => requireOpenRegistration(accounts),
    schema: {
      operationId: 'register',
      summary: 'Create an account',
      tags: ['Signing in'],
      body: registrationBody(passwordMinLength),
      response: { 201: RegistrationReply, ...(confirmation && { 202: HeldReply }) },
      problems: [
        registrationClosed,
        usernameTaken,
        emailTaken,
        tooManyFailures,
        passwordQueueFull,
        ...(confirmation?.problems ?? []),
      ],
    },
    handler: async (request, reply) => {
      const user = await registerSelf(accounts, request.body, originOf(request))
      if (!user) return reply.code(202).send(HELD)
      return reply.code(201).send({ message: 'User registered.', ...user })
    },
  })

  server.get('/api/users/me', {
    onRequest: guard.caller,
    schema: {
      operationId: 'me',
      summary: 'Your own profile',
      tags: own,
      response: { 200: ProfileReply },
    },
    handler: ({ caller }) => ownProfile(accounts, caller),
  })

  server.post('/api/users/me/password', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    onRequest: [guard.caller, ...recent],
    schema: {
      operationId: 'changePassword',
      summary: 'Change your password; ends your other sessions',
      tags: own,
      body: passwordChangeBody(passwordMinLength),
      response: { 204: noContent },
      problems: [tooManyFailures, passwordQueueFull],
    },
    handler: (request) =>
      changeOwnPassword(accounts, request.caller, request.body, originOf(request)),
  })

  administrationRoutes(server, accounts, guard, recent)
}

function administrationRoutes(
  server: Server,
  accounts: Accounts,
  guard: AccountGuard,
  recent: Guard[],
): void {
  server.get('/api/users', {
    onRequest: guard.role(ADMIN_ROLE, 'users:read'),
    schema: {
      operationId: 'users',
      summary: 'All users, or those that a search finds',
      tags: administration,
      querystring: UserSearchQuery,
      readsQuery: pageQuery(USER_SORTS),
      response: { 200: UsersReply },
    },
    handler: ({ query }) => searchUsers(accounts, query, pageRequest(query, USER_SORTS)),
  })

  server.get('/api/users/:id', {
    onRequest: guard.role(ADMIN_ROLE, 'users:read'),
    schema: {
      operationId: 'user',
      summary: 'One user, and what is pending for the account',
      tags: administration,
      params: IdPath,
      response: { 200: UserDetailsReply },
      problems: [userUnknown],
    },
    handler: ({ params }) => userDetails(accounts, pathId(params.id, { unknown: userUnknown })),
  })

  server.patch('/api/users/:id', {
    onRequest: [guard.role(ADMIN_ROLE, 'users:write'), ...recent],
    schema: {
      operationId: 'updateUser',
      summary: 'Enable or disable a user, or set roles; takes effect at once',
      tags: administration,
      params: IdPath,
      body: UserChangeBody,
      response: { 200: UserReply },
      problems: [userUnknown, lastAdministrator, deletionPending],
    },
    handler: (request) => {
      const id = pathId(request.params.id, { unknown: userUnknown })
      return changeUser(accounts, id, request.body, byCaller(request))
    },
  })
}
