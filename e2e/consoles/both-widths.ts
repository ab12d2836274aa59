import type { Page } from 'playwright-core'

export const WIDE = { width: 1440, height: 900 }
export const PHONE = { width: 390, height: 844 }

const ACTIONS = ['click', 'fill', 'selectOption', 'check', 'press'] as const

type Action = (selector: string, ...rest: unknown[]) => Promise<unknown>

const steady = new WeakSet<Page>()

/**
 * From now on each step of a flow proves the layouts of both widths: its control must be ready for a
 * click at the width that the page has; then the page takes the other width, where the control must
 * be ready again and the step is done. So every control was reached twice, every second step was
 * done on a phone, and what a step leads to is waited for at the width at which it was done.
 * A control that is missing, covered or out of the window at either width fails the step.
 *
 * Returns the faults it finds on the way: a page that scrolls sideways.
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
        // A click makes sure of that by itself.
        if (name !== 'click') await reach(selector)
      }
      return act(selector, ...rest)
    }
    Object.assign(frame, { [name]: step })
  }
  return faults
}

/** Steps that only one of the layouts has, such as the list of pages that a phone folds away. */
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
