/** The text format of Prometheus, version 0.0.4. */
import type { Family, HistogramSample, Labels, Sample } from './metrics.ts'

/** Prometheus 3 refuses a scrape without exactly this type. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Adds labels that say where the families come from. */
export function labelled(families: Family[], more: Labels): Family[] {
  return families.map((family) => ({
    ...family,
    samples: family.samples.map((each) => ({ ...each, labels: { ...each.labels, ...more } })),
  })) as Family[]
}

/** Merges families of the same name, as the format demands, and adds up samples with the same labels. */
export function merged(families: Family[]): Family[] {
  const byName = Map.groupBy(families, ({ name }) => name)
  return [...byName.values()].map((same) => {
    const samples = new Map<string, Sample | HistogramSample>()
    for (const sample of same.flatMap((family): (Sample | HistogramSample)[] => family.samples)) {
      const key = labelText(sample.labels)
      samples.set(key, added(samples.get(key), sample))
    }
    return { ...same[0], samples: [...samples.values()] } as Family
  })
}

function added<T extends Sample | HistogramSample>(left: T | undefined, right: T): T {
  if (!left) return right
  if ('value' in left && 'value' in right) return { ...left, value: left.value + right.value }
  const counts = (left as HistogramSample).counts.map(
    (count, at) => count + ((right as HistogramSample).counts[at] ?? 0),
  )
  const sum = (left as HistogramSample).sum + (right as HistogramSample).sum
  return { ...left, counts, sum }
}

export function exposition(families: Family[]): string {
  return families
    .filter(({ type, samples }) => type !== 'gauge' || samples.length > 0)
    .map((family) => `${[head(family), ...linesOf(family)].join('\n')}\n`)
    .join('')
}

function head({ name, help, type }: Family): string {
  const text = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return `# HELP ${name} ${text}\n# TYPE ${name} ${type}`
}

function linesOf(family: Family): string[] {
  const { name } = family
  if (family.type !== 'histogram')
    return family.samples.map(({ labels, value }) => `${name}${labelText(labels)} ${number(value)}`)
  return family.samples.flatMap(({ labels, counts, sum }) => {
    let total = 0
    const buckets = counts.map((count, at) => {
      total += count
      const le = number(family.bounds[at] ?? Number.POSITIVE_INFINITY)
      return `${name}_bucket${labelText({ ...labels, le })} ${total}`
    })
    const text = labelText(labels)
    return [...buckets, `${name}_sum${text} ${number(sum)}`, `${name}_count${text} ${total}`]
  })
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).filter(([, value]) => value !== undefined)
  if (pairs.length === 0) return ''
  return `{${pairs.map(([name, value]) => `${name}="${escaped(value ?? '')}"`).join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}
