import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

type Scope = { withoutInspector?: boolean }

/** What axe calls serious or critical on the page as it is now. */
export async function accessibilityFaults(page: Page, scope: Scope = {}): Promise<string[]> {
  const axe = new AxeBuilder({ page })
  if (scope.withoutInspector) axe.exclude('.inspector')
  const { violations } = await axe.analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
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
