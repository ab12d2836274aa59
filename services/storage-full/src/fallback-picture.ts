/** A drawn sheet with the type on it, for files that have no thumbnail. */
export function fallbackPicture(extension: string): string {
  const label = extension.replace(/[^a-z0-9]/gi, '').toUpperCase()
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256" viewBox="0 0 256 256"',
    ` role="img" aria-label="${label} file">`,
    '<rect width="256" height="256" fill="#f1f3f5"/>',
    '<path d="M72 40h76l36 36v140H72z" fill="#fff" stroke="#868e96" stroke-width="4"/>',
    '<path d="M148 40v36h36" fill="none" stroke="#868e96" stroke-width="4"/>',
    '<text x="128" y="160" text-anchor="middle" font-family="sans-serif" font-size="36"',
    ` font-weight="700" fill="#495057">${label}</text></svg>`,
  ].join('')
}
