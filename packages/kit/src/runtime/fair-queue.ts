/**
 * A bounded queue with one lane per client. Lanes are served in turn, so a client that sends a
 * thousand requests delays only itself. No client gets two turns in a row while another waits. When the
 * queue is full, the longest lane loses its last entry.
 */
export function createFairQueue<T>(limit: number) {
  const lanes = new Map<string, T[]>()
  let size = 0
  let lastServed: string | undefined

  function longestLane(): [string, T[]] | undefined {
    let longest: [string, T[]] | undefined
    for (const lane of lanes) if (!longest || lane[1].length > longest[1].length) longest = lane
    return longest
  }

  /** A lane that was empty when its client was served is new now, and may be ahead of others. */
  function nextLane(isReady: (client: string) => boolean): [string, T[]] | undefined {
    let again: [string, T[]] | undefined
    for (const lane of lanes) {
      if (!isReady(lane[0])) continue
      if (lane[0] !== lastServed) return lane
      again = lane
    }
    return again
  }

  function drop(client: string, lane: T[], at: number): T | undefined {
    const [entry] = lane.splice(at, 1)
    if (lane.length === 0) lanes.delete(client)
    size -= 1
    return entry
  }

  return {
    get size() {
      return size
    },

    /** Adds an entry; returns the one dropped to make room, which may be the new entry itself. */
    push(client: string, entry: T): T | undefined {
      const lane = lanes.get(client) ?? []
      lane.push(entry)
      lanes.set(client, lane)
      size += 1
      if (size <= limit) return undefined
      const [longest, entries] = longestLane() ?? [client, lane]
      return drop(longest, entries, entries.length - 1)
    },

    /** Takes the next entry of a client that is ready; the client's lane moves to the back. */
    shift(isReady: (client: string) => boolean = () => true): T | undefined {
      const [client, lane] = nextLane(isReady) ?? []
      if (client === undefined || !lane) return undefined
      lastServed = client
      const entry = drop(client, lane, 0)
      if (lanes.delete(client)) lanes.set(client, lane)
      return entry
    },

    remove(client: string, entry: T): void {
      const lane = lanes.get(client)
      const at = lane?.indexOf(entry) ?? -1
      if (lane && at >= 0) drop(client, lane, at)
    },
  }
}
