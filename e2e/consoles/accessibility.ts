import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Result, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { until } from '../../test/until.ts'

type Scope = {
  withoutInspector?: boolean
  /** Only this part of the page. */
  part?: string
  /** Another theme changes only the colours, so one of the runs can skip the other rules. */
  rules?: 'colours' | 'all but colours'
}

/** Impacts that fail a test, plus the rule against two landmarks of the same name, which confuse screen readers. */
const FAULTS = new Set(['serious', 'critical', 'landmark-unique'])

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Scripts are off in the frames of mails: axe cannot look into them, and the browser would report the attempt. */
const RUN_AXE = `async ({ scope, options }) => {
  const framesOut = [...document.querySelectorAll('iframe')].map((frame) => {
    const place = document.createComment('')
    frame.replaceWith(place)
    return { frame, place }
  })
  const { violations } = await axe.run(scope, options)
  for (const { frame, place } of framesOut) place.replaceWith(frame)
  return violations
}`

/** Everything that axe finds on the page in its current state. */
export async function violationsOf(page: Page, scope: Scope = {}): Promise<Result[]> {
  // A page keeps axe until it is reloaded, and compiling it takes longer than running it.
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(AXE)
  const context = {
    ...(scope.part && { include: [[scope.part]] }),
    exclude: scope.withoutInspector ? [['.inspector']] : [],
  }
  const options: RunOptions = { reporter: 'no-passes', resultTypes: ['violations'] }
  if (scope.rules === 'colours') options.runOnly = ['color-contrast']
  if (scope.rules === 'all but colours') options.rules = { 'color-contrast': { enabled: false } }
  return page.evaluate(`(${RUN_AXE})(${JSON.stringify({ scope: context, options })})`)
}

/** What axe calls serious or critical on the page in its current state. */
export async function accessibilityFaults(page: Page, scope: Scope = {}): Promise<string[]> {
  return (await violationsOf(page, scope))
    .filter(({ id, impact }) => FAULTS.has(impact ?? '') || FAULTS.has(id))
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

/** Records text that is put into an existing live region, and alerts, which may appear together with their text. */
const HEAR = `(() => {
  globalThis.heard = ''
  const hear = (changes) => {
    for (const { target, addedNodes } of changes) {
      const region = (target.closest ? target : target.parentElement)
        ?.closest('[role=status], [role=alert], [aria-live]')
      const alerts = [...addedNodes].flatMap((node) =>
        node.matches?.('[role=alert]') ? [node] : [...(node.querySelectorAll?.('[role=alert]') ?? [])])
      for (const part of region ? [region] : alerts) globalThis.heard += part.textContent + '\\n'
    }
  }
  new MutationObserver(hear).observe(document, { subtree: true, childList: true, characterData: true })
})()`

/** Starts listening. The returned function waits until a screen reader would have announced these words. */
export async function listen(page: Page): Promise<(words: string) => Promise<unknown>> {
  await page.evaluate(HEAR)
  return (words) =>
    until(
      () => page.evaluate<string>('globalThis.heard'),
      (heard) => heard.includes(words),
    )
}

/** How often each role occurs in the browser's accessibility tree. */
export async function countRoles(page: Page, roles: string[]): Promise<Record<string, number>> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  const present = nodes.filter(({ ignored }) => !ignored).map(({ role }) => role?.value)
  return Object.fromEntries(
    roles.map((role) => [role, present.filter((name) => name === role).length]),
  )
}
