import {
  emailText,
  oneOf,
  orNull,
  pageReply,
  requiredText,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { reason } from '../audit/schemas.ts'

const MAX_PASSWORD = 1024

// Control characters and lone surrogates (\p{Cs}) are refused because not every database can store them.
// Default-ignorable characters, which are invisible or change the writing direction, are refused because
// they make one name look like another.
const REFUSED = '\\p{Cc}\\p{Cs}\\p{Default_Ignorable_Code_Point}'
export const USERNAME_RULE = 'must have 3 to 50 characters, and no control or invisible ones'

// Counts the length without surrounding spaces.
const USERNAME = `^\\s*[^\\s${REFUSED}][^${REFUSED}]{1,48}[^\\s${REFUSED}]\\s*$`

export function isUsername(text: string): boolean {
  return new RegExp(USERNAME, 'u').test(text)
}

export const usernameText = Type.String({
  pattern: USERNAME,
  message: USERNAME_RULE,
  examples: ['ada'],
})

export function passwordText(minLength: number) {
  return requiredText({ minLength, maxLength: MAX_PASSWORD, examples: ['a long passphrase'] })
}

export const registrationBody = (passwordMinLength: number) =>
  Type.Object(
    {
      username: usernameText,
      email: emailText(),
      password: passwordText(passwordMinLength),
    },
    { title: 'Registration' },
  )

export const passwordChangeBody = (passwordMinLength: number) =>
  Type.Object(
    {
      currentPassword: requiredText({ examples: ['correct horse battery'] }),
      newPassword: passwordText(passwordMinLength),
    },
    { title: 'PasswordChange' },
  )

const role = Type.String({
  pattern: '^ROLE_(USER|ADMIN)$',
  message: 'must be ROLE_USER or ROLE_ADMIN',
  examples: ['ROLE_USER'],
})

export const roles = Type.Array(role, {
  uniqueItems: true,
  maxItems: 2,
  message: 'must name each role once',
})

export const UserChangeBody = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    roles: Type.Optional(roles),
    reason: Type.Optional(reason),
  },
  { title: 'UserChange' },
)

const DAY =
  '\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|[12]\\d))'
const TIME = 'T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,3})?Z'

const moment = Type.String({
  pattern: `^${DAY}(${TIME})?$`,
  message: 'must be a date, or a time such as 2030-01-01T12:00:00Z',
  examples: ['2030-01-01T12:00:00Z'],
})

const day = Type.String({
  pattern: `^${DAY}$`,
  message: 'must be a date such as 2030-01-01',
  examples: ['2030-01-01'],
})

export const UserSearchQuery = Type.Object({
  q: Type.Optional(
    Type.String({
      maxLength: 254,
      examples: ['ada'],
      description: 'What the username or the e-mail address begins with',
    }),
  ),
  contains: Type.Optional(
    Type.String({
      maxLength: 254,
      examples: ['0777'],
      description:
        'A part of the username or the e-mail address. Of fewer than three characters it is their beginning, as in `q`',
    }),
  ),
  role: Type.Optional(role),
  enabled: Type.Optional(oneOf('true', 'false')),
  verified: Type.Optional(oneOf('true', 'false')),
  createdFrom: Type.Optional(moment),
  createdTo: Type.Optional(moment),
  mfa: Type.Optional(oneOf('true', 'false')),
  lastSeenFrom: Type.Optional(day),
  lastSeenTo: Type.Optional(day),
  after: Type.Optional(
    Type.String({
      maxLength: 1000,
      description: '`next` of the page before. A search takes no page and no sort',
    }),
  ),
})

const profile = {
  id: Type.Integer(),
  username: Type.String({ examples: ['ada'] }),
  email: Type.String({ examples: ['ada@example.com'] }),
  roles: Type.Array(Type.String({ examples: ['ROLE_USER'] })),
  enabled: Type.Boolean(),
}

const closed = { additionalProperties: false }

/** Reply schemas list every member that is sent, so that a password hash never is. */
export const ProfileReply = Type.Object(profile, { ...closed, title: 'Profile' })

export const RegistrationReply = Type.Object(
  { message: Type.String(), ...profile },
  { ...closed, title: 'RegisteredUser' },
)

export const HeldReply = Type.Object(
  { message: Type.String() },
  { ...closed, title: 'RegistrationHeld' },
)

export const UserReply = Type.Object(
  { ...profile, createdAt: timestamp() },
  { ...closed, title: 'User' },
)

export const UsersReply = Type.Object(
  {
    ...pageReply(UserReply, 'PageOfUsers').properties,
    next: Type.Optional(
      orNull(
        Type.String({
          description:
            'The cursor of a search, whose totals are counted up to 10,000, and up to 1,000 with `contains`',
        }),
      ),
    ),
  },
  { title: 'PageOfUsers' },
)

export const UserDetailsReply = Type.Object(
  {
    ...profile,
    createdAt: timestamp(),
    emailVerified: Type.Boolean(),
    passwordChangeRequired: Type.Boolean(),
    secondFactor: Type.Boolean(),
    lastSeenOn: orNull(
      Type.String({ format: 'date', description: 'The day of the last sign-in or refresh' }),
    ),
    deletesAt: orNull(Type.String({ format: 'date-time', description: 'When it is erased' })),
    deletionBy: orNull(oneOf('user', 'administrator')),
  },
  { ...closed, title: 'UserDetails' },
)
