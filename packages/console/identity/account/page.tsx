import '../../shared/former-workers.ts'
import '../../shared/styles/tokens.css'
import '../../shared/styles/base.css'
import '../../shared/styles/components.css'
import '../../shared/styles/forms.css'
import './account.css'
import { useSignal } from '@preact/signals'
import { render } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { baseUrl } from '../../shared/api/base-url.ts'
import { brand, readBrand, type Step, stepOf } from './account.ts'
import { SignInPage } from './authorization/sign-in-page.tsx'
import { ByMail } from './by-mail.tsx'
import { DevicePage } from './device/device-page.tsx'
import { OnAccountPage } from './look.tsx'
import { OwnAccount } from './own/own-account.tsx'
import { place } from './place.ts'
import { SignOutPage } from './sign-out/sign-out-page.tsx'
import { texts } from './texts/texts.ts'

const PAGES = {
  account: OwnAccount,
  'sign-in': SignInPage,
  'sign-out': SignOutPage,
  device: DevicePage,
}

const root = document.getElementById('app')
if (root) render(<AccountPage />, root)

function AccountPage() {
  const here = useSignal(stepOf(location.hash))
  const visits = useSignal(0)
  useLayoutEffect(() => {
    readBrand()
    const follow = () => {
      here.value = stepOf(location.hash)
      visits.value += 1
    }
    // The browser ignores a link to the current address, but it has to start the page over.
    const startOver = ({ target }: MouseEvent) => {
      const { hash } = (target as Element).closest('a') ?? { hash: '' }
      if (hash !== '' && hash === location.hash) follow()
    }
    addEventListener('hashchange', follow)
    addEventListener('click', startOver)
    return () => {
      removeEventListener('hashchange', follow)
      removeEventListener('click', startOver)
    }
  }, [here, visits])
  const Page = PAGES[place]
  const go = (next: Step) => {
    here.value = { step: next, token: '' }
  }
  return (
    <main class="account" data-step={here.value.step}>
      <header class="row">
        {brand.value?.logo && <img src={`${baseUrl}/account/logo`} alt="" height="40" />}
        <strong>{brand.value?.name}</strong>
      </header>
      <OnAccountPage>
        {here.value.step === 'home' ? (
          <Page />
        ) : (
          <ByMail key={visits.value} {...here.value} go={go} />
        )}
      </OnAccountPage>
      {here.value.step !== 'home' && (
        <p>
          <a href="#home">{texts.backToSignIn}</a>
        </p>
      )}
    </main>
  )
}
