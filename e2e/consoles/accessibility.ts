import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

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
  // Axe would run scripts in the frames of mails, where they are off.
  await page.evaluate(`for (const frame of document.querySelectorAll('iframe')) frame.remove()`)
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

/** How often each role occurs in the accessibility tree of the browser. */
export async function countRoles(page: Page, roles: string[]): Promise<Record<string, number>> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  const present = nodes.filter(({ ignored }) => !ignored).map(({ role }) => role?.value)
  return Object.fromEntries(
    roles.map((role) => [role, present.filter((name) => name === role).length]),
  )
}
