import { createSession } from '../../../shared/account/session/session.ts'
import { prove } from '../../proving.ts'

export const session = createSession({ renewsItself: true, prove })
