import { emailText, requiredText, Type } from '@plinth/kit'

export const LONGEST_PASSWORD = 1024

// Control characters and halves of a character (\p{Cs}) are refused because not every database can
// store them, those that nobody sees and that turn the direction of writing because they make one
// name look like another.
export const UNSEEN =
  '\\u00ad\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff'

export const REFUSED = `\\p{Cc}\\p{Cs}${UNSEEN}`

export const USERNAME_RULE = 'must have 3 to 50 characters'

// Counted without the spaces around it.
export const USERNAME = `^\\s*[^\\s${REFUSED}][^${REFUSED}]{1,48}[^\\s${REFUSED}]\\s*$`

export function passwordText(minLength: number) {
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

export const profile = {
  id: Type.Integer(),
  username: Type.String(),
  email: Type.String(),
  roles: Type.Array(Type.String()),
  enabled: Type.Boolean(),
}

/** Replies name what leaves: a user's password hash is in none of them. */
export const ProfileReply = Type.Object(profile)

export const RegistrationReply = Type.Object({ message: Type.String(), ...profile })

export const UserReply = Type.Object({ ...profile, createdAt: Type.String() })
