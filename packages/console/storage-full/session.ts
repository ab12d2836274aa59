import { createSession } from '../shared/account/session/session.ts'

export const session = createSession({ renewsItself: true })
