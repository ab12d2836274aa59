import { createSession } from '../family/session.ts'

export const session = createSession({ renewsItself: true })
