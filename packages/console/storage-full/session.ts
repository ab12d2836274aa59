import type { StorageApi } from '@plinth/client'
import { computed } from '@preact/signals'
import { prove } from '../shared/account/session/proving.ts'
import { createSession } from '../shared/account/session/session.ts'

export const session = createSession<StorageApi.Replies>({ renewsItself: true, prove })

/** Of the caller's own files: users of the trusted issuer are known by it and their id there. */
export const ownerId = computed(() => {
  const { iss, sub } = session.decoded.value?.claims ?? {}
  return session.isProvided.value ? `${iss}#${sub}` : String(sub ?? '')
})
