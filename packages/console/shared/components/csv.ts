import { saveFile } from '../files/save-file.ts'

/** Saves the rows of a table as they are shown, without the columns for choosing and acting. */
export function saveShown(frame: Element | null, name: string): void {
  const lines = [...(frame?.querySelectorAll('tr') ?? [])].map((row) =>
    [...row.querySelectorAll<HTMLElement>('th, td')]
      .filter(({ dataset }) => dataset.csv !== 'no')
      .map(({ dataset, textContent }) => cellOf(dataset.csv ?? textContent ?? ''))
      .join(','),
  )
  // With the mark at its start, spreadsheets read it as UTF-8.
  const content = new Blob([`\ufeff${lines.join('\r\n')}\r\n`], { type: 'text/csv' })
  saveFile(content, `${name}.csv`)
}

/** Quoted (RFC 4180). A spreadsheet would run text that begins like a formula: a quote before it prevents that. */
export function cellOf(text: string): string {
  const plain = text.replace(/\s+/g, ' ').trim()
  const safe = /^[=+\-@]/.test(plain) ? `'${plain}` : plain
  return `"${safe.replaceAll('"', '""')}"`
}
