import { defineProblem } from '@plinth/kit/problems'

export const providerUnknown = defineProblem(
  'PROVIDER_NOT_FOUND',
  404,
  'There is no such provider.',
)

export const providerUnavailable = defineProblem(
  'PROVIDER_UNAVAILABLE',
  503,
  'The provider does not answer at the moment. Try again shortly, or sign in another way.',
  { headers: { 'retry-after': '10' } },
)

// The same answer for what never existed, belongs to another caller, was used or has expired.
export const ticketInvalid = defineProblem(
  'TICKET_INVALID',
  400,
  'The ticket or token is invalid, or no longer valid. Sign in with the provider again.',
)

export const accountExists = defineProblem(
  'ACCOUNT_EXISTS',
  409,
  'There is an account with this address. Sign in to it, then link the identity with the token.',
  { members: { linkToken: { type: 'string' } } },
)

export const emailNotVerifiedByProvider = defineProblem(
  'EMAIL_NOT_VERIFIED_BY_PROVIDER',
  403,
  'The provider has not verified an address. Confirm one with the token to create an account.',
  { members: { signUpToken: { type: 'string' } } },
)

export const identityInUse = defineProblem(
  'IDENTITY_IN_USE',
  409,
  'Another account signs in with this identity.',
)

export const identityUnknown = defineProblem(
  'IDENTITY_NOT_FOUND',
  404,
  'There is no such identity.',
)

export const lastSignInMethod = defineProblem(
  'LAST_SIGN_IN_METHOD',
  409,
  'There is no other way to sign in to this account: choose a password or add a passkey first.',
)

// For people: the address is opened by navigation.
export const requestOver = defineProblem(
  'SIGN_IN_OVER',
  400,
  'This sign-in is over, or was begun in another browser.',
  {
    page: {
      title: 'This sign-in cannot continue',
      text: 'It has taken too long, was finished before, or was begun in another browser. Go back to the application and sign in again.',
      always: true,
      translations: {
        de: {
          title: 'Diese Anmeldung kann nicht weitergehen',
          text: 'Sie hat zu lange gedauert, ist schon beendet oder wurde in einem anderen Browser begonnen. Geh zurück zur Anwendung und melde dich dort noch einmal an.',
        },
        es: {
          title: 'Este inicio de sesión no puede continuar',
          text: 'Ha tardado demasiado, ya ha terminado o se empezó en otro navegador. Vuelve a la aplicación e inicia sesión de nuevo.',
        },
      },
    },
  },
)
