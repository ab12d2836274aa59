import { type Html, html } from '../layout.ts'

/** A part of the page with a heading that links can lead to. */
export function section(id: string, title: string, content: Html): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
${content}
</section>`
}

/** A table that may be wider than a phone, or a sentence when it is empty. */
export function table(caption: string, heads: string[], rows: Html[][]): Html {
  if (rows.length === 0) return html`<p class="hint">Nothing yet.</p>`
  return html`<div class="scroll" role="group" aria-label="${caption}" tabindex="0"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
</table></div>`
}

/** A button that does one thing to one object. */
export function actionButton(action: string, label: string, id: string): Html {
  return html`<form method="post" action="/sandbox/do/${action}"><input type="hidden" name="id" value="${id}">
<button aria-label="${label} ${id}">${label}</button></form>`
}

export const code = (text: string): Html => html`<code>${text}</code>`

export function select(
  name: string,
  label: string,
  options: readonly string[],
  chosen?: string,
): Html {
  return html`<div><label for="${name}">${label}</label>
<select id="${name}" name="${name}">${options.map((option) =>
    option === chosen
      ? html`<option selected>${option}</option>`
      : html`<option>${option}</option>`,
  )}</select></div>`
}

export function input(name: string, label: string, value: string | number, type = 'text'): Html {
  return html`<div><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}"></div>`
}
