export type HashTask =
  | { kind: 'hash'; password: string; cost: HashCost }
  | { kind: 'verify'; password: string; hash: string }

/** The cost of one argon2id hash. */
export type HashCost = { memoryKib: number; passes: number; lanes: number }

/** The minimum that OWASP and ASVS 5 recommend. */
export const DEFAULT_COST: HashCost = { memoryKib: 19_456, passes: 2, lanes: 1 }

// An imported hash must not be able to demand a gigabyte of memory or minutes of work.
const MAX_COST: HashCost = { memoryKib: 262_144, passes: 10, lanes: 4 }

const MIN_COST: HashCost = { memoryKib: 8, passes: 1, lanes: 1 }

const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/

/** Reads the cost out of a stored hash; `undefined` when it is not argon2id or not within bounds. */
export function costOf(hash: string): HashCost | undefined {
  const [, memory, passes, lanes] = PHC.exec(hash) ?? []
  const cost = { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) }
  return isAtLeast(cost, MIN_COST) && isAtLeast(MAX_COST, cost) ? cost : undefined
}

export function isAtLeast(cost: HashCost, floor: HashCost): boolean {
  return (
    cost.memoryKib >= floor.memoryKib && cost.passes >= floor.passes && cost.lanes >= floor.lanes
  )
}

/** A hash of this cost that no password matches: checking against it takes as long as against a real one. */
export function decoyHash(cost: HashCost, random: (bytes: number) => Buffer): string {
  const part = (bytes: number) => random(bytes).toString('base64').replace(/=+$/, '')
  const { memoryKib, passes, lanes } = cost
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${part(16)}$${part(32)}`
}
