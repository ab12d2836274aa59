const PLACES = ['sign-in', 'sign-out'] as const

/** Which of the account pages this is; the others are at the same address and told apart by their fragment. */
export const place: (typeof PLACES)[number] | 'account' =
  PLACES.find((name) => location.pathname.endsWith(`/account/${name}`)) ?? 'account'
