/** Loaded before a service, this removes the entire cost of its events. */
import { registerHooks } from 'node:module'

/** The code that replaces exports of a module, by the end of its URL. */
const REPLACED: Record<string, string> = {
  'events/src/database/outbox.repository.ts': `
    import { sql } from 'kysely'
    export const firstEventOf = () => sql\`select 1\`
    export const insertEvent = async () => 'evt_none'
    export const firstEvent = () => ({})
    export const insertFirstEvent = async () => {}`,
  'events/src/delivery/dispatcher.ts': `
    const none = async () => {}
    export const startDispatcher = () => ({ wake: () => {}, round: none, idle: none, stop: none })`,
}

registerHooks({
  load(url, context, nextLoad) {
    const found = Object.entries(REPLACED).find(([end]) => url.endsWith(end))
    if (!found) return nextLoad(url, context)
    const source = `export * from ${JSON.stringify(`${url}?real`)}\n${found[1]}`
    return { format: 'module', source, shortCircuit: true }
  },
})
