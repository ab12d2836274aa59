const SHAPES = {
  key: 'M15 7.5a1.5 1.5 0 0 1 1.5 1.5M20.5 9a5.8 5.8 0 0 1-7.5 5.5L10.8 16.8H8.8v2H6.8v2H3.5v-3.3l6-6A5.8 5.8 0 1 1 20.5 9z',
  session: 'M12 7v5l3 2M21 12a9 9 0 1 1-9-9 9 9 0 0 1 9 9z',
  person: 'M12 12a4 4 0 1 0-4-4 4 4 0 0 0 4 4zM4.5 20a7.5 7.5 0 0 1 15 0',
  people:
    'M9 12a3.5 3.5 0 1 0-3.5-3.5A3.5 3.5 0 0 0 9 12zM2.5 19.5a6.5 6.5 0 0 1 13 0M16 5.2a3.5 3.5 0 0 1 0 6.6M18 14a6.5 6.5 0 0 1 3.5 5.5',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  grid: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  pulse: 'M3 12h4l3-7 4 14 3-7h4',
  file: 'M6 3h8l5 5v13H6zM14 3v5h5',
  upload: 'M12 16V4M7 9l5-5 5 5M4 17v3h16v-3',
  download: 'M12 4v12M7 11l5 5 5-5M4 17v3h16v-3',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  disks:
    'M4 6.5C4 5 7.6 4 12 4s8 1 8 2.5S16.4 9 12 9 4 8 4 6.5zM4 6.5v11C4 19 7.6 20 12 20s8-1 8-2.5v-11M4 12c0 1.5 3.6 2.5 8 2.5s8-1 8-2.5',
  refresh: 'M20 11A8 8 0 0 0 6 6.5L4 9M4 4v5h5M4 13a8 8 0 0 0 14 4.5l2-2.5M20 20v-5h-5',
  leave: 'M10 4H5v16h5M14 8l4 4-4 4M8 12h10',
  lock: 'M8 11V8a4 4 0 0 1 8 0v3M6 11h12v9H6z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M6 6l12 12M18 6L6 18',
  alert: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  search: 'M11 18a7 7 0 1 0-7-7 7 7 0 0 0 7 7zM20 20l-4-4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  theme: 'M12 3a9 9 0 1 0 9 9 9 9 0 0 0-9-9zM12 3v18M12 7.5a4.5 4.5 0 0 1 0 9',
  wires: 'M4 8h13M14 4l4 4-4 4M20 16H7M10 12l-4 4 4 4',
  switch: 'M8 9l4-4 4 4M8 15l4 4 4-4',
  open: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  scroll: 'M7 4h11v13M7 4a2 2 0 0 0-2 2v11M5 17h10v1a2 2 0 0 0 4 0v-1h-4M10 8h5M10 12h5',
} as const

type Shape = keyof typeof SHAPES

/** Icons that only some consoles show are separate constants, so that the others do not load them. */
type Drawing = `M${string}`

export const CARD: Drawing = 'M3 6h18v12H3zM3 10h18M7 15h4'
export const EYE: Drawing =
  'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 1 0-3-3 3 3 0 0 0 3 3z'
export const HOME: Drawing = 'M4 11l8-7 8 7M6 9.5V20h12V9.5M10 20v-6h4v6'
export const INBOX: Drawing = 'M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5'
export const PASSKEY: Drawing =
  'M12 11a3 3 0 0 1 3 3c0 2-.5 4-1.5 6M6.5 19c1-1.5 1.5-3.2 1.5-5a4 4 0 0 1 8 0M5 15v-1a7 7 0 0 1 13.8-1.7M19 15.5c0 1.5-.2 2.8-.6 4M11.8 14.5c0 2-.6 4-1.8 6'

export type IconName = Shape | Drawing

/** Always decorative: the text beside it carries the meaning. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={SHAPES[name as Shape] ?? name} />
    </svg>
  )
}

export function PlinthMark() {
  return (
    <span class="mark">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M7 3h10v3H7zm1.5 4h7v9h-7zM6 17h12v2H6zm-2 3h16v2H4z" />
      </svg>
    </span>
  )
}
