import { AxeBuilder } from '@axe-core/playwright'
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

/** Scripts are off in the frames that show mails: axe cannot look into them, and the browser reports that it tries. */
const TAKE_FRAMES_OUT = `globalThis.framesOut = [...document.querySelectorAll('iframe')].map((frame) => {
  const place = document.createComment('')
  frame.replaceWith(place)
  return { frame, place }
})`
const PUT_FRAMES_BACK = `for (const { frame, place } of globalThis.framesOut) place.replaceWith(frame)`

/** What axe calls serious or critical on the page as it is now. */
export async function accessibilityFaults(page: Page, scope: Scope = {}): Promise<string[]> {
  // Violations alone, collected in the page itself: there are no frames to gather them from.
  const axe = new AxeBuilder({ page }).options({ resultTypes: ['violations'] }).setLegacyMode()
  if (scope.withoutInspector) axe.exclude('.inspector')
  if (scope.part) axe.include(scope.part)
  if (scope.rules === 'colours') axe.withRules(['color-contrast'])
  if (scope.rules === 'all but colours') axe.disableRules(['color-contrast'])
  await page.evaluate(TAKE_FRAMES_OUT)
  const { violations } = await axe.analyze()
  await page.evaluate(PUT_FRAMES_BACK)
  return violations
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
