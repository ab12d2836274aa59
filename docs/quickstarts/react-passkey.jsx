// Sign in with a password once, add a passkey, and sign in with that from then on.
//
// Identity must know the page: IDENTITY_CORS_ORIGINS and IDENTITY_PASSKEY_ORIGINS name its origin.
import { webStore } from '@plinth/client'
import { identityClient } from '@plinth/client/identity'
import { StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'

const url = document.documentElement.dataset.identity ?? 'http://localhost:8081'

function App() {
  const [identity, setIdentity] = useState()
  const [user, setUser] = useState()
  const [failure, setFailure] = useState('')

  // StrictMode runs effects twice, so the client that is made here is also disposed here.
  useEffect(() => {
    const client = identityClient(url, { store: webStore() })
    const show = () =>
      client.session.signedIn ? client.account.get().then(setUser) : setUser(undefined)
    client.session.onChange(show)
    show()
    setIdentity(client)
    return () => client.session.dispose()
  }, [])

  const attempt = (work) => () =>
    work().then(
      () => setFailure(''),
      ({ message }) => setFailure(message),
    )

  const addPasskey = attempt(async () => {
    const options = await identity.passkeys.creationOptions()
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
    const credential = await navigator.credentials.create({ publicKey })
    await identity.passkeys.add(credential, 'This browser')
  })

  const signInWithPasskey = attempt(async () => {
    const options = await identity.passkeys.requestOptions()
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
    const credential = await navigator.credentials.get({ publicKey })
    await identity.passkeys.logIn(credential)
  })

  const signIn = (event) => {
    event.preventDefault()
    const { username, password } = Object.fromEntries(new FormData(event.currentTarget))
    attempt(() => identity.logIn(username, password))()
  }

  if (!identity) return null
  return (
    <main>
      <p role="status">{user ? `Signed in as ${user.username}` : 'Signed out'}</p>
      <p role="alert">{failure}</p>
      {user ? (
        <>
          <button type="button" onClick={addPasskey}>
            Add a passkey
          </button>
          <button type="button" onClick={attempt(() => identity.logOut())}>
            Sign out
          </button>
        </>
      ) : (
        <>
          <button type="button" onClick={signInWithPasskey}>
            Sign in with a passkey
          </button>
          <form onSubmit={signIn}>
            <input name="username" aria-label="Username" autoComplete="username webauthn" />
            <input name="password" type="password" aria-label="Password" />
            <button type="submit">Sign in</button>
          </form>
        </>
      )}
    </main>
  )
}

createRoot(document.getElementById('app')).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
