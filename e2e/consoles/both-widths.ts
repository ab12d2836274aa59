import type { Page } from 'playwright-core'

export const WIDE = { width: 1440, height: 900 }
export const PHONE = { width: 390, height: 844 }

const ACTIONS = ['click', 'fill', 'selectOption', 'check', 'press'] as const

type Action = (selector: string, ...rest: unknown[]) => Promise<unknown>

const steady = new WeakSet<Page>()

/**
 * From now on each step of a flow checks the layouts of both widths: its control must be clickable at
 * the current width; then the page switches to the other width, where the control must be clickable
 * again and the step is carried out. So every control is reached twice, every second step happens on a
 * phone, and its result is awaited at the width at which it happened. A control that is missing, covered
 * or off-screen at either width fails the step.
 *
 * Returns the faults it finds on the way: pages that scroll sideways.
 */
export function alternateWidths(page: Page): string[] {
  const faults: string[] = []
  const frame = page.mainFrame()
  const click = frame.click.bind(frame)
  const reach = (selector: string) => click(selector, { strict: true, trial: true })
  for (const name of ACTIONS) {
    const act = frame[name].bind(frame) as Action
    const step: Action = async (selector, ...rest) => {
      if (!steady.has(page)) {
        await reach(selector)
        await takeOtherWidth(page)
        faults.push(...(await overflowOf(page)))
        // A click checks that by itself.
        if (name !== 'click') await reach(selector)
      }
      return act(selector, ...rest)
    }
    Object.assign(frame, { [name]: step })
  }
  return faults
}

/** Runs steps that exist in only one of the layouts, such as the page list that a phone collapses. */
export async function onlyAt<T>(
  page: Page,
  size: typeof WIDE,
  steps: () => Promise<T>,
): Promise<T> {
  await page.setViewportSize(size)
  steady.add(page)
  try {
    return await steps()
  } finally {
    steady.delete(page)
  }
}

async function takeOtherWidth(page: Page): Promise<void> {
  const isWide = page.viewportSize()?.width === WIDE.width
  await page.setViewportSize(isWide ? PHONE : WIDE)
}

async function overflowOf(page: Page): Promise<string[]> {
  const pixels = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  return pixels ? [`${page.url()} is ${pixels} px too wide`] : []
}
