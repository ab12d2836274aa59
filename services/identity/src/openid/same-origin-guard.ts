import { type Guard, guarding } from '@plinth/kit/http'
import type { OpenId } from './openid.ts'
import { originRejected } from './problems.ts'

/** The cookie decides, so another site must not be able to send the request. */
export function sameOrigin({ publicUrl }: Pick<OpenId, 'publicUrl'>): Guard {
  const { origin: own } = new URL(publicUrl)
  return guarding({ schemes: {}, problems: [originRejected] }, async ({ headers }) => {
    const { origin, 'sec-fetch-site': site = 'same-origin' } = headers
    if (origin !== undefined && origin !== own) throw originRejected()
    if (site !== 'same-origin' && site !== 'none') throw originRejected()
  })
}
