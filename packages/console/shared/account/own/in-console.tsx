import type { ComponentChildren } from 'preact'
import { ConfirmButton } from '../../components/button.tsx'
import { Form } from '../../components/form.tsx'
import { Badge, Card } from '../../components/page.tsx'
import { Refusal } from '../../components/reply.tsx'
import { List } from '../../components/table.tsx'
import { facts } from '../../shell/facts.ts'
import { dateText } from '../../wording.ts'
import { type AskProps, type EntriesProps, type Look, LookOfPage } from './look.ts'
import { english } from './words.ts'

/** Shows parts of the user's own account as cards and tables, with refusals in the words of the service. */
export function InConsole({ children }: { children: ComponentChildren }) {
  const look: Look = {
    words: english,
    passwordMinLength: facts.value.passwordMinLength ?? 12,
    inbox: facts.value.developmentMail ? '#/mail' : undefined,
    date: dateText,
    time: dateText,
    Section: Card,
    Ask,
    Failure: Refusal,
    Entries,
  }
  return <LookOfPage.Provider value={look}>{children}</LookOfPage.Provider>
}

function Ask({ label, fields, action, send, plain, buttons }: AskProps) {
  const [first, ...others] = fields
  return (
    <Form
      label={label}
      fields={fields}
      action={action}
      send={send}
      kind={plain ? 'plain' : 'primary'}
      beside={!buttons && !first?.hint && others.length === 0}
      buttons={buttons}
    />
  )
}

function Entries<Id extends string | number, Row extends { id: Id }>(props: EntriesProps<Id, Row>) {
  const { of, caption, name, facts, kept, remove } = props
  return (
    <List<Row>
      of={of}
      action={remove.action}
      caption={caption}
      columns={[
        { title: 'Name', of: (row) => <strong>{name(row)}</strong> },
        ...facts,
        {
          title: 'Action',
          of: (row) =>
            kept?.(row) ? (
              <Badge tone="good">{kept(row)}</Badge>
            ) : (
              <ConfirmButton
                small
                kind="danger"
                subject={name(row)}
                question={remove.question}
                onClick={() => remove.action.run(row.id)}
              >
                {remove.label}
              </ConfirmButton>
            ),
        },
      ]}
      empty={<p class="soft">{english.nothingYet}</p>}
    />
  )
}
