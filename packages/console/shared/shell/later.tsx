import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { Button } from '../components/button.tsx'
import { Notice, Skeleton } from '../components/page.tsx'

/** A page whose program is loaded when someone opens it. */
export function later(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | undefined
  return function Later() {
    const state = useSignal<'loading' | 'there' | 'failed'>(loaded ? 'there' : 'loading')
    useEffect(() => {
      if (loaded) return
      load().then(
        (component) => {
          loaded = component
          state.value = 'there'
        },
        () => {
          state.value = 'failed'
        },
      )
    }, [state])
    const Content = loaded
    if (state.value === 'there' && Content) return <Content />
    return state.value === 'failed' ? <NotLoaded /> : <Skeleton />
  }
}

/** The service has stopped, or another version of it, with other files, has taken its place. */
function NotLoaded() {
  return (
    <Notice tone="bad" alert>
      <strong>This page could not be loaded.</strong>
      <div>
        <Button icon="refresh" onClick={() => location.reload()}>
          Reload
        </Button>
      </div>
    </Notice>
  )
}
