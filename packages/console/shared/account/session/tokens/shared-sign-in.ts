import { signal } from '@preact/signals'
import { signInAt } from '../../../api/concealment.ts'
import { claimsOf, decodeToken } from './decoded-token.ts'
import { type Kept, type KeptTokens, openKept } from './kept-tokens.ts'

/** The tokens of this console, or another console at this origin whose sign-in it uses. */
type Remembered = Kept | { neighbour: string }

/** The sign-in that the tabs of a console share. `take` is called whenever another page changes the tokens. */
export function shareSignIn(take: (kept: Kept | undefined) => void) {
  const restored = signal(false)
  const neighbour = signal<string | undefined>(undefined)
  const own = openKept<Remembered>(workerOf('./'), remember)
  const ownPair: KeptTokens = { ...own, read: async () => pairIn(await own.read()) }
  let current = ownPair
  own.read().then(remember)

  async function remember(value: Remembered | undefined): Promise<void> {
    if (value && 'neighbour' in value) await follow(value.neighbour)
    else {
      neighbour.value = undefined
      signInAt.base = undefined
      current = ownPair
      take(value)
    }
    restored.value = true
  }

  /** Uses the tokens of the console at that address for as long as it has any. */
  async function follow(console: string): Promise<void> {
    neighbour.value = console
    signInAt.base = accountsOf(console)
    current = openKept<Kept>(workerOf(console), (value) => {
      if (neighbour.value !== console) return
      if (value) take(value)
      else leave()
    })
    const found = await current.read()
    if (found) take(found)
    else await leave()
  }

  async function leave(): Promise<void> {
    if (!neighbour.value) return
    await own.keep(undefined)
    await remember(undefined)
  }

  const kept: KeptTokens = {
    read: () => current.read(),
    keep: (value) => current.keep(value),
    withLock: (work) => current.withLock(work),
  }
  const continueFrom = async (console: string) => {
    await own.keep({ neighbour: console })
    await follow(console)
  }
  return { kept, restored, neighbour, continueFrom, leave }
}

type Watcher = (kept: Kept | undefined) => void
type Watched = { kept: KeptTokens; watchers: Set<Watcher> }

/** One for each console: a connection to its worker lasts as long as the page. */
const watched = new Map<string, Watched>()

/** Reports who is signed in at another console of this origin, now and whenever it changes, until it is stopped. */
export function watchNeighbour(
  console: string,
  onChange: (username: string | undefined) => void,
): () => void {
  const { kept, watchers } = watched.get(console) ?? connectTo(console)
  const tell: Watcher = (value) =>
    onChange(value && claimsOf(decodeToken(value.pair.accessToken)).username)
  watchers.add(tell)
  kept.read().then((value) => watchers.has(tell) && tell(value))
  return () => void watchers.delete(tell)
}

function connectTo(console: string): Watched {
  const watchers = new Set<Watcher>()
  const kept = openKept<Kept>(workerOf(console), (value) => {
    for (const tell of watchers) tell(value)
  })
  watched.set(console, { kept, watchers })
  return { kept, watchers }
}

function pairIn(value: Remembered | undefined): Kept | undefined {
  return value && 'pair' in value ? value : undefined
}

function workerOf(console: string): string {
  return new URL('session-worker.js', new URL(console, location.href)).href
}

/** The base URL of the service whose accounts a console uses: the folder above its pages. */
export function accountsOf(console: string | undefined): string | undefined {
  return console && new URL('..', new URL(console, location.href)).href.replace(/\/$/, '')
}
