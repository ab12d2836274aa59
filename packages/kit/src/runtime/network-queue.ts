import { clientNetworks } from './client-networks.ts'

/** A network that has entries, or has networks within it that have. */
type Network<T> = {
  name: string
  around: Network<T> | undefined
  within: Map<string, Network<T>>
  entries: T[]
  size: number
}

/**
 * A bounded queue that is fair between networks of every width: IPv4 addresses and IPv6 /48s take turns; in each
 * /48 its /56s do, and in each of those its /64s. However many networks an attacker has within a /48, a client
 * elsewhere waits for one entry of theirs. When the queue is full, the largest network loses its last entry.
 */
export function createNetworkQueue<T>(limit: number) {
  const all = newNetwork<T>('', undefined)

  return {
    get size() {
      return all.size
    },

    /** Adds an entry; returns the one dropped to make room, which may be the new entry itself. */
    push(address: string, entry: T): T | undefined {
      let network = all
      for (const name of widestFirst(address)) {
        const next = network.within.get(name) ?? newNetwork(name, network)
        network.within.set(name, next)
        network = next
      }
      network.entries.push(entry)
      for (const each of andAround(network)) each.size += 1
      if (all.size <= limit) return undefined
      const largest = narrowestLargest(all)
      return takeOut(largest, largest.entries.length - 1)
    },

    /** Takes the next entry; each network that it is in moves to the back. */
    shift(): T | undefined {
      let network = all
      for (let [next] = all.within.values(); next; [next] = network.within.values()) {
        network.within.delete(next.name)
        network.within.set(next.name, next)
        network = next
      }
      return takeOut(network, 0)
    },

    remove(address: string, entry: T): void {
      let network: Network<T> | undefined = all
      for (const name of widestFirst(address)) network = network?.within.get(name)
      const at = network?.entries.indexOf(entry) ?? -1
      if (network && at >= 0) takeOut(network, at)
    },
  }
}

function newNetwork<T>(name: string, around: Network<T> | undefined): Network<T> {
  return { name, around, within: new Map(), entries: [], size: 0 }
}

function widestFirst(address: string): string[] {
  return clientNetworks(address).toReversed()
}

function* andAround<T>(network: Network<T>): Generator<Network<T>> {
  for (let each: Network<T> | undefined = network; each; each = each.around) yield each
}

function narrowestLargest<T>(network: Network<T>): Network<T> {
  const [first, ...others] = network.within.values()
  if (!first) return network
  return narrowestLargest(others.reduce((a, b) => (b.size >= a.size ? b : a), first))
}

function takeOut<T>(network: Network<T>, at: number): T | undefined {
  const taken = network.entries.splice(at, 1)
  for (const each of andAround(network)) {
    each.size -= taken.length
    if (each.size === 0) each.around?.within.delete(each.name)
  }
  return taken[0]
}
