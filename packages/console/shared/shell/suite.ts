import { signal } from '@preact/signals'

type Suite = {
  home: string
  consoles: { name: string; title: string; href: string }[]
  /** The console of the service whose accounts are taken here, too. */
  signIn?: string
}

/** What runs beside this service; nothing where it runs alone. */
export const suite = signal<Suite | null>(null)

fetch('suite.json').then(
  async (reply) => {
    if (reply.ok) suite.value = (await reply.json()).suite
  },
  () => {},
)
