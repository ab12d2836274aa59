import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Result, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { until } from '../../test/until.ts'

type Scope = {
  withoutInspector?: boolean
  /** Only this part of the page. */
  part?: string
  /** Another theme changes nothing else. */
  rules?: 'colours' | 'all but colours'
}

/** By impact; and two parts of the same name, which leave a screen reader lost. */
const FAULTS = new Set(['serious', 'critical', 'landmark-unique'])

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Scripts are off in the frames that show mails: axe cannot look into them, and the browser reports that it tries. */
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

/** What axe finds on the page as it is now. */
export async function violationsOf(page: Page, scope: Scope = {}): Promise<Result[]> {
  // A page keeps it until it is loaded again, and compiling it takes longer than a run of it.
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

/** What axe calls serious or critical on the page as it is now. */
export async function accessibilityFaults(page: Page, scope: Scope = {}): Promise<string[]> {
  return (await violationsOf(page, scope))
    .filter(({ id, impact }) => FAULTS.has(impact ?? '') || FAULTS.has(id))
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

/** Words that come into a live region that is there already, and alerts, which may come with theirs. */
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

/** From now on, waits until a screen reader would have read these words out. */
export async function listen(page: Page): Promise<(words: string) => Promise<unknown>> {
  await page.evaluate(HEAR)
  return (words) =>
    until(
      () => page.evaluate<string>('globalThis.heard'),
      (heard) => heard.includes(words),
    )
}

/** How often each role occurs in the accessibility tree of the browser. */
export async function countRoles(page: Page, roles: string[]): Promise<Record<string, number>> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  const present = nodes.filter(({ ignored }) => !ignored).map(({ role }) => role?.value)
  return Object.fromEntries(
    roles.map((role) => [role, present.filter((name) => name === role).length]),
  )
}
