import { signal } from '@preact/signals'

/** Whether an administrator is signed in: the pages for administrators need no padlock then. */
export const isAdmin = signal(false)
