// Let users sign in on the page of Plinth. This page has no server of its own, so its client is public.
//
//   plinth clients create Shop --public --redirect-uri http://localhost:3000/
import { codeFlow } from '@plinth/client/code-flow'
import { StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'

const { identity = 'http://localhost:8081', client } = document.documentElement.dataset
const plinth = codeFlow(identity, { clientId: client })

// Once for each load of the page: an answer can be taken only once, and StrictMode runs effects twice.
const answer = plinth.finish().finally(() => history.replaceState(null, '', location.pathname))

function App() {
  const [user, setUser] = useState()
  const [failure, setFailure] = useState('')

  useEffect(() => {
    answer.then(setUser, ({ message }) => setFailure(message))
  }, [])

  return (
    <main>
      <p role="status">{user ? `Signed in as ${user.claims.preferred_username}` : 'Signed out'}</p>
      <p role="alert">{failure}</p>
      {!user && (
        <button type="button" onClick={() => plinth.signIn()}>
          Sign in
        </button>
      )}
    </main>
  )
}

createRoot(document.getElementById('app')).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
