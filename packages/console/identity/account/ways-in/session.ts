import { prove } from '../../../shared/account/session/proving.ts'
import { createSession } from '../../../shared/account/session/session.ts'
import type { IdentityReplies } from '../../replies.ts'

export const session = createSession<IdentityReplies>({ renewsItself: true, prove })
