import '../shared/styles/index.css'
import './landing.css'
import { signal } from '@preact/signals'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { Button } from '../shared/components/button.tsx'
import { PlinthMark } from '../shared/components/icon.tsx'
import { Notice, Skeleton } from '../shared/components/page.tsx'
import { AppearanceButton } from '../shared/shell/appearance.tsx'
import { SearchButton } from '../shared/shell/top/search-button.tsx'
import { FirstThings } from './first-things.tsx'
import { Search } from './search/search.tsx'
import { ServiceCard } from './service-card.tsx'
import { findHealthPage, healthShown, reachable, readServices, services } from './services.ts'

const homeWanted = signal(false)

const root = document.getElementById('app')
if (root) render(<LandingPage />, root)

const POLL_MILLISECONDS = 5000

function LandingPage() {
  useEffect(() => {
    readServices()
    findHealthPage()
    const timer = setInterval(readServices, POLL_MILLISECONDS)
    return () => clearInterval(timer)
  }, [])
  return (
    <div class="landing">
      <header class="row apart">
        <span class="row wordmark">
          <PlinthMark /> Plinth
        </span>
        <span class="row">
          {healthShown.value && <a href="health/index.html">Health</a>}
          <SearchButton />
          <AppearanceButton />
        </span>
      </header>
      <main class="stack wide">
        <div>
          <h1>{headline()}</h1>
          <p class="lead soft">
            Accounts, files and payments as plain HTTP services on this machine. Open a console,
            click, and copy the request.
          </p>
        </div>
        <Unreachable />
        <ForAdministrators />
        <FirstThings services={services.value ?? []} />
        <section class="stack" aria-labelledby="services-title">
          <h2 id="services-title">The services</h2>
          <div class="service-cards">
            {services.value?.map((each) => <ServiceCard key={each.name} service={each} />) ?? (
              <Skeleton />
            )}
          </div>
        </section>
      </main>
      <Search actions={hasHome() ? [{ title: 'Show today’s figures', run: showHome }] : []} />
    </div>
  )
}

async function showHome(): Promise<void> {
  homeWanted.value = true
  await import('./home/home.tsx')
}

/** Administrators sign in at identity. */
function hasHome(): boolean {
  return services.value?.some(({ name }) => name === 'identity') ?? false
}

/** Its program has a form, tables and charts, which most visitors do not need. */
function ForAdministrators() {
  if (!hasHome()) return null
  return (
    <>
      {!homeWanted.value && (
        <div>
          <Button icon="pulse" onClick={showHome}>
            Show today’s figures
          </Button>
        </div>
      )}
      <div id="home" class="stack wide" />
    </>
  )
}

function headline(): string {
  if (!reachable.value) return 'No answer.'
  if (!services.value) return 'Loading…'
  const ill = services.value.filter(({ healthy }) => !healthy).map(({ title }) => title)
  return ill.length === 0 ? 'Everything is running.' : `Not healthy: ${ill.join(', ')}.`
}

function Unreachable() {
  if (reachable.value) return null
  return (
    <Notice tone="warn" alert>
      <p>
        <strong>Plinth does not answer.</strong> It was probably stopped. Below is its last known
        state; this page tries again every few seconds.
      </p>
    </Notice>
  )
}
