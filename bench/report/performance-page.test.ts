import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withLines } from './performance-page.ts'
import { lineOf, linesOf, tableOf } from './table.ts'

const line = (part: string, ours: string) => lineOf(part, { what: 'a route', ours }, '2030-01-01')
const PAGE = `# Figures

<!-- bench:start -->

${tableOf([line('b', '2/s'), line('a', '1/s'), line('gone', '3/s')])}

<!-- bench:end -->

The end.
`

describe('writing results to the page', () => {
  test('replaces the measured parts and keeps the others, in the given order', () => {
    const measured = new Map([['b', [line('b', '20/s'), line('b', '21/s')]]])

    const page = withLines(PAGE, ['a', 'b', 'new'], measured)

    const figures = linesOf(page).map(([part, , ours]) => `${part} ${ours}`)
    assert.deepEqual(figures, ['a 1/s', 'b 20/s', 'b 21/s'])
  })

  test('is idempotent and leaves the text around the table alone', () => {
    const once = withLines(PAGE, ['a', 'b', 'gone'], new Map())
    const twice = withLines(once, ['a', 'b', 'gone'], new Map())

    assert.equal(twice, once)
    assert.match(once, /^# Figures\n\n<!-- bench:start -->\n\n\| part /)
    assert.match(once, /\|\n\n<!-- bench:end -->\n\nThe end\.\n$/)
  })

  test('refuses a page without the two markers', () => {
    assert.throws(() => withLines('# Figures\n', [], new Map()), /needs <!-- bench:start -->/)
  })
})

test('a table shows the ratio, the bar and whether it was met', () => {
  const row = { what: 'a', ours: '5/s', baseline: '10/s', ratio: 0.5, bar: '≥ 0.6', met: false }

  const [titles, , cells] = tableOf([lineOf('kit', row, '')]).split('\n')

  assert.match(titles ?? '', /^\| part \| what \| ours \| baseline \| ratio \| {3}bar \|/)
  assert.match(
    cells ?? '',
    /^\| kit {2}\| a {4}\| {2}5\/s \| {5}10\/s \| {2}0\.50 \| ≥ 0\.6 \| {3}✖ \|/,
  )
})
