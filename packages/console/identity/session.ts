import { createSession } from '../family/session.ts'

// Watching a token expire is part of what this console teaches, so it does not renew by itself.
export const session = createSession({ renewsItself: false })
