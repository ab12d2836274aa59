import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { read } from './tree.ts'

const OBSERVE = 'deploy/observe'
const PAGES = readdirSync(join(import.meta.dirname, '../..', OBSERVE, 'runbooks')).sort()

/** Each alert with the text of its rule. */
const ALERTS = read(`${OBSERVE}/rules.yml`)
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((rule) => ({ name: rule.slice(0, rule.indexOf('\n')), rule }))

describe('the runbook', () => {
  test('has a page for each alert, and for nothing else', () => {
    assert.deepEqual(PAGES, ALERTS.map(({ name }) => `${name}.md`).sort())
  })

  for (const { name, rule } of ALERTS)
    test(`${name} is linked from its rule, and says what it means and what to do`, () => {
      assert.match(rule, new RegExp(`^ {10}runbook: runbooks/${name}\\.md$`, 'm'))

      const page = read(`${OBSERVE}/runbooks/${name}.md`)
      const titles = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) => title)
      assert.deepEqual(titles, [name, 'What it means', 'Look first', 'What to do'])
      assert.ok(page.split('\n').length <= 40, 'short enough to be read at night')
    })
})
