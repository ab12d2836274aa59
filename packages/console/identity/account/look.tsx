import type { ComponentChildren } from 'preact'
import { type EntriesProps, type Look, LookOfPage } from '../../shared/account/own/look.ts'
import { baseUrl } from '../../shared/api/base-url.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Badge, Skeleton } from '../../shared/components/page.tsx'
import { brand } from './account.ts'
import { Ask, Failure, Section } from './parts.tsx'
import { dateIn, texts, timeIn } from './texts/texts.ts'

/** Shows the parts of the account as sections and lists, in the language of the reader. */
export function OnAccountPage({ children }: { children: ComponentChildren }) {
  const look: Look = {
    words: texts,
    passwordMinLength: brand.value?.passwordMinLength ?? 12,
    inbox: brand.value?.inbox ? `${baseUrl}/api-test/index.html#/mail` : undefined,
    date: dateIn,
    time: timeIn,
    Section,
    Ask,
    Failure,
    Entries,
  }
  return <LookOfPage.Provider value={look}>{children}</LookOfPage.Provider>
}

function Entries<Id extends string | number, Row extends { id: Id }>(props: EntriesProps<Id, Row>) {
  const { of, caption, name, facts, kept, remove } = props
  const shown = (row: Row) => facts.map(({ title, of }) => `${title}: ${of(row)}`).join(' · ')
  return (
    <>
      {of.loading && <Skeleton label={texts.loading} />}
      <ul class="entries" aria-label={caption} hidden={!of.body?.length}>
        {of.body?.map((row) => (
          <li key={row.id} class="row apart">
            <span>
              {name(row)}
              <br />
              <span class="soft small">{shown(row)}</span>
            </span>
            {kept?.(row) ? (
              <Badge tone="good">{kept(row)}</Badge>
            ) : (
              <ConfirmButton
                small
                kind="danger"
                subject={name(row)}
                question={remove.question}
                yes={remove.label}
                no={texts.cancel}
                onClick={() => remove.action.run(row.id)}
              >
                {remove.label}
              </ConfirmButton>
            )}
          </li>
        ))}
      </ul>
      {of.body?.length === 0 && <p class="soft">{texts.nothingYet}</p>}
      <Failure reply={of.refusal ?? remove.action.refusal} meanings={remove.meanings} />
    </>
  )
}
