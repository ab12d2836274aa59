import { emailText, requiredText, Type, timestamp } from '@plinth/kit'

const LONGEST_PASSWORD = 1024

// Control characters and lone surrogates (\p{Cs}) are refused because not every database can store
// them; default-ignorable characters, which are not drawn or change the writing direction, because they
// make one name look like another.
const REFUSED = '\\p{Cc}\\p{Cs}\\p{Default_Ignorable_Code_Point}'
export const USERNAME_RULE = 'must have 3 to 50 characters'

// The length without surrounding spaces.
const USERNAME = `^\\s*[^\\s${REFUSED}][^${REFUSED}]{1,48}[^\\s${REFUSED}]\\s*$`

export function passwordText(minLength: number) {
  return requiredText({ minLength, maxLength: LONGEST_PASSWORD, examples: ['a long passphrase'] })
}

export const registrationBody = (passwordMinLength: number) =>
  Type.Object(
    {
      username: Type.String({ pattern: USERNAME, message: USERNAME_RULE, examples: ['ada'] }),
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

export const UserChangeBody = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    roles: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^ROLE_(USER|ADMIN)$',
          message: 'must be ROLE_USER or ROLE_ADMIN',
          examples: ['ROLE_USER'],
        }),
        { uniqueItems: true, maxItems: 2, message: 'must name each role once' },
      ),
    ),
  },
  { title: 'UserChange' },
)

const pathNumber = Type.String({ examples: ['1'] })

export const UserSessionPath = Type.Object({ id: pathNumber, sessionId: pathNumber })

const profile = {
  id: Type.Integer(),
  username: Type.String({ examples: ['ada'] }),
  email: Type.String({ examples: ['ada@example.com'] }),
  roles: Type.Array(Type.String({ examples: ['ROLE_USER'] })),
  enabled: Type.Boolean(),
}

const closed = { additionalProperties: false }

/** Reply schemas list what is sent, so that a password hash never is. */
export const ProfileReply = Type.Object(profile, { ...closed, title: 'Profile' })

export const RegistrationReply = Type.Object(
  { message: Type.String(), ...profile },
  { ...closed, title: 'RegisteredUser' },
)

export const UserReply = Type.Object(
  { ...profile, createdAt: timestamp() },
  { ...closed, title: 'User' },
)
