import { type ComponentChildren, Fragment } from 'preact'

/** Names and values side by side; entries without a value are left out. */
export function Facts({ of }: { of: Record<string, ComponentChildren> }) {
  return (
    <dl class="facts">
      {Object.entries(of).map(([name, value]) =>
        value === undefined ? null : (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value ?? <span class="soft">none</span>}</dd>
          </Fragment>
        ),
      )}
    </dl>
  )
}
