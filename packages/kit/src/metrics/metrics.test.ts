import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { exposition, labelled, merged } from './exposition.ts'
import { Metrics } from './metrics.ts'
import { measureDisks } from './stores.ts'

/** Leaves out the metric about the metrics themselves. */
const textOf = async (metrics: Metrics) => {
  const families = await metrics.read()
  return exposition(families.filter(({ name }) => name !== 'plinth_metrics_overflow_total'))
}

describe('metrics', () => {
  test('are written in the text format of Prometheus', async () => {
    const metrics = new Metrics()
    const count = metrics.counter({ name: 'jobs_total', help: 'Jobs.\nAll.', labels: ['kind'] })
    const time = metrics.histogram({ name: 'wait_seconds', help: 'W.', labels: [], bounds: [1, 5] })
    metrics.gauge({ name: 'queue_length', help: 'Q.' }, () => 7)
    count({ kind: 'a "b" \\ c\nd' }, 2)
    for (const value of [0.5, 1, 4, 90]) time({}, value)

    assert.equal(
      await textOf(metrics),
      `# HELP jobs_total Jobs.\\nAll.
# TYPE jobs_total counter
jobs_total{kind="a \\"b\\" \\\\ c\\nd"} 2
# HELP wait_seconds W.
# TYPE wait_seconds histogram
wait_seconds_bucket{le="1"} 2
wait_seconds_bucket{le="5"} 3
wait_seconds_bucket{le="+Inf"} 4
wait_seconds_sum 95.5
wait_seconds_count 4
# HELP queue_length Q.
# TYPE queue_length gauge
queue_length 7
`,
    )
  })

  test('a counter of the same name is the same counter', async () => {
    const metrics = new Metrics()
    const about = { name: 'jobs_total', help: 'Jobs.', labels: ['kind'] } as const

    metrics.counter(about)({ kind: 'a' })
    metrics.counter(about)({ kind: 'a' })

    assert.deepEqual((await textOf(metrics)).match(/^jobs_total.*$/gm), ['jobs_total{kind="a"} 2'])
  })

  test('start at 0 where the labels are known', async () => {
    const metrics = new Metrics()
    metrics.counter({ name: 'a_total', help: 'A.' })
    metrics.counter({ name: 'b_total', help: 'B.', labels: ['x'], known: [{ x: 'y' }] })

    const text = await textOf(metrics)
    assert.match(text, /^a_total 0$/m)
    assert.match(text, /^b_total\{x="y"\} 0$/m)
  })

  test('have at most 500 series each, and count the events they dropped', async () => {
    const metrics = new Metrics()
    const count = metrics.counter({ name: 'a_total', help: 'A.', labels: ['path'] })

    for (let index = 0; index < 600; index++) count({ path: String(index) })

    const text = exposition(await metrics.read())
    assert.equal(text.match(/^a_total\{/gm)?.length, 500)
    assert.match(text, /^plinth_metrics_overflow_total\{metric="a_total"\} 100$/m)
  })

  test('are recorded beyond the cap without the label that may be left out', async () => {
    const metrics = new Metrics()
    const labels = ['path', 'status'] as const
    const time = metrics.histogram({ name: 'a', help: 'A.', labels, bounds: [], beyondCap: 'path' })

    for (let index = 0; index < 600; index++) time({ path: String(index), status: '200' }, 1)
    time({ path: '600', status: '500' }, 1)

    const text = exposition(await metrics.read())
    assert.match(text, /^a_count\{status="200"\} 100$/m)
    assert.match(text, /^a_count\{status="500"\} 1$/m)
    assert.match(text, /^plinth_metrics_overflow_total\{metric="a"\} 101$/m)
  })

  test('record values for a series looked up once, and count those beyond the cap', async () => {
    const metrics = new Metrics()
    const observe = metrics.histogram({ name: 'h', help: 'H.', labels: ['path'], bounds: [1] })
    const first = observe.of({ path: 'first' })
    for (let index = 1; index < 500; index++) observe({ path: String(index) }, 1)
    const late = observe.of({ path: 'late' })

    first(0.5)
    first(2)
    late(1)

    const text = exposition(await metrics.read())
    assert.match(text, /^h_bucket\{path="first",le="1"\} 1$/m)
    assert.match(text, /^h_count\{path="first"\} 2$/m)
    assert.doesNotMatch(text, /late/)
    assert.match(text, /^plinth_metrics_overflow_total\{metric="h"\} 1$/m)
  })

  test('leave out a gauge that fails or hangs, say so, and show the rest', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const unread: string[] = []
    const metrics = new Metrics((name, error) => unread.push(`${name}: ${error}`))
    metrics.gauge({ name: 'broken', help: 'B.' }, () => Promise.reject(new Error('no')))
    metrics.gauge({ name: 'hung', help: 'H.' }, () => new Promise<number>(() => {}))
    metrics.gauge({ name: 'fine', help: 'F.' }, () => 1)

    const text = textOf(metrics)
    // Microtasks only: what else happens in this process must not set its timers on the simulated clock.
    for (let turn = 0; turn < 100 && unread.length === 0; turn++) await Promise.resolve()
    t.mock.timers.tick(2_000)
    assert.equal(await text, '# HELP fine F.\n# TYPE fine gauge\nfine 1\n')
    assert.deepEqual(unread, ['broken: Error: no', 'hung: Error: It took too long.'])
  })

  test('do not start a read again before it has ended', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const metrics = new Metrics()
    const begun: ((value: number) => void)[] = []
    const read = () => new Promise<number>((resolve) => begun.push(resolve))
    metrics.gauge({ name: 'slow', help: 'S.' }, read)

    for (let round = 0; round < 3; round++) {
      const text = textOf(metrics)
      t.mock.timers.tick(2_000)
      assert.equal(await text, '')
    }
    assert.equal(begun.length, 1)
    const text = textOf(metrics)
    begun[0]?.(4)
    assert.match(await text, /^slow 4$/m)
    void textOf(metrics)
    assert.equal(begun.length, 2)
  })

  test('show the disks of the folders that exist', async () => {
    const metrics = new Metrics()
    measureDisks(metrics, { data: tmpdir(), files: join(tmpdir(), 'not-there') })

    const text = await textOf(metrics)
    assert.match(text, /^plinth_disk_free_bytes\{role="data"\} \d+$/m)
    assert.match(text, /^plinth_disk_size_bytes\{role="data"\} \d+$/m)
    assert.doesNotMatch(text, /files/)
  })

  test('of several services or processes are merged, and added up where the labels are the same', () => {
    const family = (value: number) =>
      [{ name: 'a_total', help: 'A.', type: 'counter', samples: [{ labels: {}, value }] }] as const
    const one = labelled([...family(1)] as never, { service: 'one' })
    const two = labelled([...family(2)] as never, { service: 'two' })

    assert.equal(
      exposition(merged([...one, ...two, ...two])),
      '# HELP a_total A.\n# TYPE a_total counter\na_total{service="one"} 1\na_total{service="two"} 4\n',
    )
  })

  test('put every value into exactly one bucket', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.double({ min: 0, max: 20, noNaN: true })), async (values) => {
        const metrics = new Metrics()
        const observe = metrics.histogram({ name: 'h', help: 'H.', labels: [], bounds: [1, 5, 10] })
        for (const value of values) observe({}, value)

        const text = await textOf(metrics)
        for (const bound of [1, 5, 10, Number.POSITIVE_INFINITY]) {
          const le = bound === Number.POSITIVE_INFINITY ? '\\+Inf' : bound
          const found = new RegExp(`^h_bucket\\{le="${le}"\\} (\\d+)$`, 'm').exec(text)?.[1]
          assert.equal(Number(found), values.filter((value) => value <= bound).length)
        }
      }),
      { numRuns: 50 },
    ))
})
