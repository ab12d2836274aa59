import { useSignal } from '@preact/signals'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Field } from '../../shared/components/form.tsx'
import { Card } from '../../shared/components/page.tsx'
import { Loaded } from '../../shared/components/reply.tsx'
import { session } from '../session.ts'
import { MailView } from './mail-view.tsx'

const LANGUAGES = [
  { value: 'en', label: 'English' },
  { value: 'de', label: 'Deutsch' },
  { value: 'es', label: 'Español' },
]

/** For administrators, who may have replaced the texts. */
export function TemplatesCard() {
  const language = useSignal('en')
  const kind = useSignal('verify-email')
  const templates = useLoad(
    () => session.api.get('/api/mail/templates', { query: `language=${language.value}` }),
    [language.value],
  )
  return (
    <Card title="Templates" about="Every mail as it looks, with made-up details.">
      <Field label="Language" name="language" options={LANGUAGES} bind={language} />
      <Loaded of={templates}>
        {(all) => (
          <>
            <Field
              label="Kind"
              name="kind"
              options={all.map((each) => ({ value: each.kind, label: each.kind }))}
              bind={kind}
            />
            {all
              .filter((each) => each.kind === kind.value)
              .map((mail) => (
                <div class="stack" key={mail.kind}>
                  <h3>{mail.subject}</h3>
                  <MailView name={`Template ${mail.kind}`} html={mail.html} text={mail.text} />
                </div>
              ))}
          </>
        )}
      </Loaded>
    </Card>
  )
}
