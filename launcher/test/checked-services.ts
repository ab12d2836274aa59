import assert from 'node:assert/strict'
import { checkReplies } from '@plinth/kit/testing'
import { type ServiceEntry, services } from '../services.ts'

/** The services for `startStack`; the test fails if a reply does not match the API document. */
export function checkedServices(t: { after(work: () => Promise<void>): void }): ServiceEntry[] {
  const faults: (() => string[])[] = []
  t.after(async () => {
    const found = faults.flatMap((list) => list())
    assert.deepEqual(found, [], 'replies differ from the API document')
  })
  return services.map((entry) => ({
    ...entry,
    prepare: async (env) => {
      const prepared = await entry.prepare(env)
      const create = async () => {
        const server = await prepared.create()
        faults.push(checkReplies(server))
        return server
      }
      return { ...prepared, create }
    },
  }))
}
