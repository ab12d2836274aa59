export type Labels = Record<string, string | undefined>

export type Sample = { labels: Labels; value: number }

/** `counts[i]` are the values up to `bounds[i]` and above the bound before; the last has no bound. */
export type HistogramSample = { labels: Labels; counts: number[]; sum: number }

export type Family = Described &
  (
    | { type: 'counter' | 'gauge'; samples: Sample[] }
    | { type: 'histogram'; bounds: number[]; samples: HistogramSample[] }
  )

export type Counter<L extends string> = (labels: Record<L, string | undefined>, by?: number) => void

export type Histogram<L extends string> = {
  (labels: Record<L, string | undefined>, value: number): void
  /** Looks the series up once, for labels that come again and again. */
  of(labels: Record<L, string | undefined>): (value: number) => void
}

type Described = { name: string; help: string }

type About<L extends string> = Described & {
  labels?: readonly L[]
  /** Label values that are known beforehand: they are there with 0, so that a first event is a rise. */
  known?: Record<L, string>[]
}

type Reading = number | Sample[]

type Read = () => Reading | Promise<Reading>

/** A label whose values a client can choose would otherwise take memory without end. */
const MOST_SERIES = 500

const READING_MS = 2_000

/**
 * What one service counts. Counting is always on and costs less than a microsecond; reading happens
 * when somebody asks. Labels never hold a user, a file, an address or free text.
 */
export class Metrics {
  readonly #families: (() => Family | Promise<Family>)[] = []
  /** None while the counter itself is made. */
  readonly #overflow: Counter<'metric'> | undefined

  constructor() {
    this.#overflow = this.counter({
      name: 'plinth_metrics_overflow_total',
      help: 'Events that a metric dropped because it had too many series.',
      labels: ['metric'],
    })
  }

  counter<const L extends string = never>(about: About<L>): Counter<L> {
    const samples = this.#series<L, Sample>(about, (labels) => ({ labels, value: 0 }))
    this.#families.push(() => ({ ...described(about), type: 'counter', samples: samples.all() }))
    return (labels, by = 1) => {
      const sample = samples.of(labels)
      if (sample) sample.value += by
      else this.#overflow?.({ metric: about.name })
    }
  }

  /** Beyond the cap of series, values are added without the label `beyondCap`. */
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
   * Read when somebody asks, but not more often than every so many seconds where reading has a price.
   * What cannot be read is left out, so that it does not hide the rest.
   */
  gauge(about: Described, read: Read, everySeconds = 0): void {
    this.#readLater(about, 'gauge', everySeconds === 0 ? read : atMostEvery(everySeconds, read))
  }

  /** A count that is kept elsewhere and only ever rises. */
  observedCounter(about: Described, read: Read): void {
    this.#readLater(about, 'counter', read)
  }

  #readLater(about: Described, type: 'counter' | 'gauge', read: Read): void {
    const readOnce = oneAtATime(read)
    this.#families.push(async () => {
      const reading = await inTime(readOnce)
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
    const of = (labels: Record<L, string | undefined>, most = MOST_SERIES): T | undefined => {
      let key = ''
      for (const each of names) key += `${labels[each] ?? ''}\n`
      const found = series.get(key)
      if (found) return found
      if (series.size >= most) return aboveCap(labels)
      const created = create({ ...labels })
      series.set(key, created)
      return created
    }
    const aboveCap = (labels: Record<L, string | undefined>) => {
      if (beyondCap === undefined || labels[beyondCap] === undefined) return undefined
      this.#overflow?.({ metric: name })
      return of({ ...labels, [beyondCap]: undefined }, 2 * MOST_SERIES)
    }
    // From 0 on, so that the first one is a rise.
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

/** One that hangs is not begun again: those who ask would pile up more of them. */
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

async function inTime(read: Read): Promise<Reading> {
  const { promise: late, resolve } = Promise.withResolvers<Reading>()
  const timer = setTimeout(() => resolve([]), READING_MS)
  try {
    return await Promise.race([read(), late])
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}
