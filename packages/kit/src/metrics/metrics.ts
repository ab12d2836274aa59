export type Labels = Record<string, string | undefined>

export type Sample = { labels: Labels; value: number }

/** `counts[i]` counts the values up to `bounds[i]` and above `bounds[i - 1]`; the last has no bound. */
export type HistogramSample = { labels: Labels; counts: number[]; sum: number }

export type Family = Described &
  (
    | { type: 'counter' | 'gauge'; samples: Sample[] }
    | { type: 'histogram'; bounds: number[]; samples: HistogramSample[] }
  )

export type Counter<L extends string> = (labels: Record<L, string | undefined>, by?: number) => void

type Histogram<L extends string> = {
  (labels: Record<L, string | undefined>, value: number): void
  /** Looks the series up once, for labels that are used again and again. */
  of(labels: Record<L, string | undefined>): (value: number) => void
}

type Described = { name: string; help: string }

type About<L extends string> = Described & {
  labels?: readonly L[]
  /** Label values known in advance: they start at 0, so that the first event shows as an increase. */
  known?: Record<L, string>[]
}

type Reading = number | Sample[]

type Read = () => Reading | Promise<Reading>

type OnUnread = (name: string, error: unknown) => void

/** Without a cap, a label whose values clients can choose would use unbounded memory. */
const MAX_SERIES = 500

const READING_MS = 2_000

/**
 * The metrics of one service. Counting is always on and costs less than a microsecond; gauges are read
 * on demand. Labels never hold a user, a file, an address or free text.
 */
export class Metrics {
  readonly #families: (() => Family | Promise<Family>)[] = []
  readonly #counters = new Map<string, Counter<string>>()
  /** Undefined while this counter itself is created. */
  readonly #overflow: Counter<'metric'> | undefined
  readonly #onUnread: OnUnread

  /** `onUnread` learns which metric could not be read, and why. */
  constructor(onUnread: OnUnread = () => {}) {
    this.#onUnread = onUnread
    this.#overflow = this.counter({
      name: 'plinth_metrics_overflow_total',
      help: 'Events that a metric dropped because it had too many series.',
      labels: ['metric'],
    })
  }

  /** Several rooms, or scopes of a server, may count in the same one: a name must be exposed once. */
  counter<const L extends string = never>(about: About<L>): Counter<L> {
    const existing = this.#counters.get(about.name)
    if (existing) return existing
    const counter = this.#newCounter(about)
    this.#counters.set(about.name, counter)
    return counter
  }

  #newCounter<L extends string>(about: About<L>): Counter<L> {
    const samples = this.#series<L, Sample>(about, (labels) => ({ labels, value: 0 }))
    this.#families.push(() => ({ ...described(about), type: 'counter', samples: samples.all() }))
    return (labels, by = 1) => {
      const sample = samples.of(labels)
      if (sample) sample.value += by
      else this.#overflow?.({ metric: about.name })
    }
  }

  /** Beyond the cap on series, values are recorded without the label `beyondCap`. */
  histogram<const L extends string>(
    about: About<L> & { bounds: number[]; beyondCap?: L },
  ): Histogram<L> {
    const { bounds } = about
    const empty = (labels: Labels): HistogramSample => ({
      labels,
      counts: new Array(bounds.length + 1).fill(0),
      sum: 0,
    })
    const samples = this.#series<L, HistogramSample>(about, empty)
    this.#families.push(() => ({
      ...described(about),
      type: 'histogram',
      bounds,
      samples: samples.all(),
    }))
    const add = (sample: HistogramSample | undefined, value: number) => {
      if (sample) addValue(sample, bounds, value)
      else this.#overflow?.({ metric: about.name })
    }
    const of = (labels: Record<L, string | undefined>) => {
      const sample = samples.of(labels)
      return (value: number) => add(sample, value)
    }
    return Object.assign(
      (labels: Record<L, string | undefined>, value: number) => add(samples.of(labels), value),
      { of },
    )
  }

  /**
   * Read on demand, but at most every `everySeconds` where reading is expensive. A gauge that cannot
   * be read is left out, so that it does not hide the rest.
   */
  gauge(about: Described, read: Read, everySeconds = 0): void {
    this.#readLater(about, 'gauge', everySeconds === 0 ? read : atMostEvery(everySeconds, read))
  }

  /** A count that is kept elsewhere and only ever increases. */
  observedCounter(about: Described, read: Read): void {
    this.#readLater(about, 'counter', read)
  }

  #readLater(about: Described, type: 'counter' | 'gauge', read: Read): void {
    const readOnce = oneAtATime(read)
    this.#families.push(async () => {
      const reading = await readInTime(readOnce).catch((error) => {
        this.#onUnread(about.name, error)
        return []
      })
      const samples = typeof reading === 'number' ? [{ labels: {}, value: reading }] : reading
      return { ...described(about), type, samples }
    })
  }

  async read(): Promise<Family[]> {
    return Promise.all(this.#families.map((family) => family()))
  }

  #series<L extends string, T>(
    { name, labels: names = [], known = [], beyondCap }: About<L> & { beyondCap?: L },
    create: (labels: Labels) => T,
  ) {
    const series = new Map<string, T>()
    const of = (labels: Record<L, string | undefined>, max = MAX_SERIES): T | undefined => {
      let key = ''
      for (const each of names) key += `${labels[each] ?? ''}\n`
      const found = series.get(key)
      if (found) return found
      if (series.size >= max) return aboveCap(labels)
      const created = create({ ...labels })
      series.set(key, created)
      return created
    }
    const aboveCap = (labels: Record<L, string | undefined>) => {
      if (beyondCap === undefined || labels[beyondCap] === undefined) return undefined
      this.#overflow?.({ metric: name })
      return of({ ...labels, [beyondCap]: undefined }, 2 * MAX_SERIES)
    }
    // Starts at 0, so that the first overflow shows as an increase.
    if (names.length > 0) this.#overflow?.({ metric: name }, 0)
    if (names.length === 0) of({} as Record<L, string>)
    for (const labels of known) of(labels)
    return { of, all: () => [...series.values()] }
  }
}

function addValue(sample: HistogramSample, bounds: number[], value: number): void {
  let bucket = 0
  while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1
  sample.counts[bucket] = (sample.counts[bucket] as number) + 1
  sample.sum += value
}

function described({ name, help }: Described): Described {
  return { name, help }
}

function atMostEvery(seconds: number, read: Read): Read {
  let last: { reading: Reading; until: number } | undefined
  return async () => {
    if (!last || performance.now() >= last.until)
      last = { reading: await read(), until: performance.now() + seconds * 1000 }
    return last.reading
  }
}

/** A read that hangs is not started again: every scrape would add another one. */
function oneAtATime(read: Read): Read {
  let pending: Promise<Reading> | undefined
  return () => {
    if (pending) return pending
    const reading = read()
    if (!(reading instanceof Promise)) return reading
    pending = reading.finally(() => {
      pending = undefined
    })
    return pending
  }
}

async function readInTime(read: Read): Promise<Reading> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('It took too long.')), READING_MS)
  try {
    return await Promise.race([read(), late])
  } finally {
    clearTimeout(timer)
  }
}
