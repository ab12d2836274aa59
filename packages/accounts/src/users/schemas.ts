import { emailText, requiredText, Type } from '@plinth/kit'

const LONGEST_PASSWORD = 1024

// Control characters and lone surrogates (\p{Cs}) are refused because not every database can store
// them; default-ignorable characters, which are not drawn or change the writing direction, because they
// make one name look like another.
const REFUSED = '\\p{Cc}\\p{Cs}\\p{Default_Ignorable_Code_Point}'
export const USERNAME_RULE = 'must have 3 to 50 characters'

// The length without surrounding spaces.
const USERNAME = `^\\s*[^\\s${REFUSED}][^${REFUSED}]{1,48}[^\\s${REFUSED}]\\s*$`

function passwordText(minLength: number) {
  return requiredText({ minLength, maxLength: LONGEST_PASSWORD })
}

export const registrationBody = (passwordMinLength: number) =>
  Type.Object({
    username: Type.String({ pattern: USERNAME, message: USERNAME_RULE }),
    email: emailText(),
    password: passwordText(passwordMinLength),
  })

export const passwordChangeBody = (passwordMinLength: number) =>
  Type.Object({
    currentPassword: requiredText(),
    newPassword: passwordText(passwordMinLength),
  })

export const UserChangeBody = Type.Object({
  enabled: Type.Optional(Type.Boolean()),
  roles: Type.Optional(
    Type.Array(
      Type.String({
        pattern: '^ROLE_(USER|ADMIN)$',
        message: 'must be ROLE_USER or ROLE_ADMIN',
      }),
      { uniqueItems: true, maxItems: 2, message: 'must name each role once' },
    ),
  ),
})

export const UserSessionPath = Type.Object({ id: Type.String(), sessionId: Type.String() })

const profile = {
  id: Type.Integer(),
  username: Type.String(),
  email: Type.String(),
  roles: Type.Array(Type.String()),
  enabled: Type.Boolean(),
}

/** Reply schemas list what is sent, so that a password hash never is. */
export const ProfileReply = Type.Object(profile)

export const RegistrationReply = Type.Object({ message: Type.String(), ...profile })

export const UserReply = Type.Object({ ...profile, createdAt: Type.String() })
