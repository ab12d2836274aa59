import { type Guard, guarding } from '@plinth/kit/http'
import { mediaTypeUnsupported } from '@plinth/kit/problems'
import type { OpenId } from './openid.ts'
import { originRejected } from './problems.ts'

const JSON_TYPE = /^application\/json *(;|$)/i

/**
 * The cookie decides, so another site must not be able to send the request. A form of another site cannot send JSON,
 * and an empty one is not parsed: the type is looked at before the body is.
 */
export function sameOrigin({ publicUrl }: Pick<OpenId, 'publicUrl'>): Guard {
  const { origin: own } = new URL(publicUrl)
  return guarding({ schemes: {}, problems: [originRejected] }, async ({ headers }) => {
    const { origin, 'sec-fetch-site': site = 'same-origin' } = headers
    if (origin !== undefined && origin !== own) throw originRejected()
    if (site !== 'same-origin' && site !== 'none') throw originRejected()
    if (!JSON_TYPE.test(headers['content-type'] ?? '')) throw mediaTypeUnsupported()
  })
}
