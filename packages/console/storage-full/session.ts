import { createSession } from '../shared/session.ts'

export const session = createSession({ renewsItself: true })
