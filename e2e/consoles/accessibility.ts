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

/** What axe calls serious or critical on the page as it is now. */
export async function accessibilityFaults(page: Page, scope: Scope = {}): Promise<string[]> {
  // Violations alone, collected in the page itself: there are no frames to gather them from.
  const axe = new AxeBuilder({ page }).options({ resultTypes: ['violations'] }).setLegacyMode()
  if (scope.withoutInspector) axe.exclude('.inspector')
  if (scope.part) axe.include(scope.part)
  if (scope.rules === 'colours') axe.withRules(['color-contrast'])
  if (scope.rules === 'all but colours') axe.disableRules(['color-contrast'])
  const { violations } = await axe.analyze()
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
