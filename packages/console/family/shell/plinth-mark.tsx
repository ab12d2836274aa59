export function PlinthMark() {
  return (
    <span class="mark">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M7 3h10v3H7zm1.5 4h7v9h-7zM6 17h12v2H6zm-2 3h16v2H4z" />
      </svg>
    </span>
  )
}
