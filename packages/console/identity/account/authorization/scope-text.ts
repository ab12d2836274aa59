import { filled } from '../../../shared/account/own/words.ts'
import { texts } from '../texts/texts.ts'

const SCOPES: Record<string, string> = {
  openid: texts.scopeOpenid,
  profile: texts.scopeProfile,
  email: texts.scopeEmail,
  roles: texts.scopeRoles,
  offline_access: texts.scopeOffline,
}

/** What a scope, or a resource of another service, allows. */
export function scopeText(name: string): string {
  return SCOPES[name] ?? filled(texts.scopeResource, { resource: name })
}
