/** Runs work once for all who ask for the same thing while it is under way. */
export type SingleFlight = <T>(key: string, work: () => Promise<T>) => Promise<T>

export function createSingleFlight(): SingleFlight {
  const flights = new Map<string, Promise<unknown>>()
  return <T>(key: string, work: () => Promise<T>) => {
    const underWay = flights.get(key) as Promise<T> | undefined
    if (underWay) return underWay
    const flight = work().finally(() => flights.delete(key))
    flights.set(key, flight)
    return flight
  }
}
