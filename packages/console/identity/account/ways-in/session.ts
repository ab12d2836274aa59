import { prove } from '../../../shared/account/session/proving.ts'
import { createSession } from '../../../shared/account/session/session.ts'

export const session = createSession({ renewsItself: true, prove })
