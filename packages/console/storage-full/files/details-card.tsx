import type { StorageApi, StoredFile } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Badge, Card, Notice } from '../../shared/components/page.tsx'
import { Announced, Refusal, Success } from '../../shared/components/reply.tsx'
import { saveFile } from '../../shared/files/save-file.ts'
import { goTo } from '../../shared/shell/route.ts'
import { dateText, sizeText } from '../../shared/wording.ts'
import { hrefOf, isOwn, knownFolders, placeOf, relistFolders } from '../folders/folders.ts'
import { session } from '../session.ts'
import { deleteFile } from '../trash/deletions.tsx'
import { addFile } from './library.ts'
import { listIn } from './sought.ts'

/** What is known of a file, of which its owner may change some. */
export function DetailsCard({ file, onChange }: { file: StoredFile; onChange(): Promise<void> }) {
  const isEdited = useSignal(false)
  const download = useAction(async () => {
    const reply = await session.api.get('/file/download/{id}', { path: { id: file.id } })
    if (reply.ok) saveFile(reply.content, file.originalFilename)
    return reply
  })
  const removal = useAction(async () => {
    await deleteFile(file)
    goTo(placeOf(file).slice(2))
    return undefined
  })
  return (
    <Card
      title="Metadata"
      actions={
        <>
          <Button icon="download" busy={download.busy} onClick={() => download.run()}>
            Download
          </Button>
          <Button
            expanded={isEdited.value}
            onClick={() => {
              isEdited.value = !isEdited.value
            }}
          >
            Edit
          </Button>
          <Button icon="trash" kind="danger" busy={removal.busy} onClick={() => removal.run()}>
            Delete
          </Button>
        </>
      }
    >
      <Refusal reply={download.refusal} />
      {isEdited.value && <DetailsForm file={file} onChange={onChange} />}
      <Facts
        of={{
          Id: file.id,
          Folder: isOwn(file) ? <a href={hrefOf(file.folder)}>{file.folder}</a> : file.folder,
          Type: file.contentType,
          Size: sizeText(file.size) + (file.size < 1024 ? '' : ` (${file.size} bytes)`),
          Owner: file.owner,
          Provider: <Badge tone="accent">{file.provider}</Badge>,
          Stored: dateText(file.createdAt),
          Changed: file.updatedAt === file.createdAt ? undefined : dateText(file.updatedAt),
          Tags:
            file.tags.length === 0 ? undefined : (
              <span class="row">
                {file.tags.map((tag) => (
                  <Badge key={tag}>{tag}</Badge>
                ))}
              </span>
            ),
          ...Object.fromEntries(
            Object.entries(file.metadata).map(([name, value]) => [`“${name}”`, value]),
          ),
          'SHA-256': <code>{file.checksumSha256}</code>,
        }}
      />
    </Card>
  )
}

/**
 * Sends only what differs: each member that is given replaces the old one. What another program has written and
 * these fields cannot show, such as a tag with a comma, is not in them and stays.
 */
function DetailsForm({ file, onChange }: { file: StoredFile; onChange(): Promise<void> }) {
  const shown = shownOf(file)
  const metadata = useSignal(shown.metadata)
  const unread = useSignal('')
  const change = useAction(
    async ({ originalFilename = '', folder = '/', tags = '' }: Values) => {
      const isWritten = metadata.value !== shown.metadata
      const parsed = isWritten ? metadataIn(metadata.value) : {}
      unread.value = parsed ? '' : 'Each line of the metadata needs a name, “=” and a value.'
      if (!parsed) return undefined
      const wanted: StorageApi.FileChange = {
        originalFilename,
        folder,
        ...(tags !== shown.tags && { tags: [...listIn(tags), ...shown.otherTags] }),
        ...(isWritten && { metadata: { ...parsed, ...shown.otherMetadata } }),
      }
      return session.api.patch('/file/{id}', {
        path: { id: file.id },
        json: differing(wanted, file),
      })
    },
    async (reply) => {
      if (!reply?.ok) return
      addFile(reply.body)
      relistFolders()
      await onChange()
    },
  )
  return (
    <>
      <Form
        label="Change the file"
        fields={[
          {
            label: 'Name',
            name: 'originalFilename',
            value: file.originalFilename,
            maxLength: 255,
          },
          { label: 'Folder', name: 'folder', value: file.folder, suggestions: knownFolders() },
          {
            label: 'Tags',
            name: 'tags',
            value: shown.tags,
            hint: `Separated by commas, at most 20. ${staying(shown.otherTags)}`,
            optional: true,
          },
        ]}
        action={change}
        send="Save"
        kind="primary"
      >
        <div class="field">
          <label for="file-metadata">
            Metadata <span class="soft small">(optional)</span>
          </label>
          <textarea
            id="file-metadata"
            rows={3}
            spellcheck={false}
            aria-describedby="file-metadata-hint"
            value={metadata.value}
            onInput={({ currentTarget }) => {
              metadata.value = currentTarget.value
            }}
          />
          <p class="hint" id="file-metadata-hint">
            One on each line, such as <code>camera=X100</code>.{' '}
            {staying(Object.keys(shown.otherMetadata))}
          </p>
        </div>
      </Form>
      {unread.value && (
        <Notice tone="bad">
          <Announced>{unread.value}</Announced>
        </Notice>
      )}
      {change.reply?.ok && <Success>Saved.</Success>}
    </>
  )
}

/** What the fields show, and what they cannot: it would be read as something else. */
function shownOf({ tags, metadata }: StoredFile) {
  const isTag = (tag: string) => isSame(listIn(tag), [tag])
  const entries = Object.entries(metadata)
  const lineOf = ([name, value]: [string, string]) => `${name}=${value}`
  const isLine = ([name, value]: [string, string]) =>
    isSame(metadataIn(lineOf([name, value])), { [name]: value })
  return {
    tags: tags.filter(isTag).join(', '),
    otherTags: tags.filter((tag) => !isTag(tag)),
    metadata: entries.filter(isLine).map(lineOf).join('\n'),
    otherMetadata: Object.fromEntries(entries.filter((entry) => !isLine(entry))),
  }
}

function staying(names: string[]): string {
  const quoted = names.map((name) => `“${name}”`)
  return names.length === 0 ? '' : `Not shown here, and kept: ${quoted.join(', ')}.`
}

/** Undefined if a line is not `name=value`. */
function metadataIn(text: string): Record<string, string> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const pairs = lines.map((line): [string, string] => {
    const sign = line.indexOf('=')
    return [line.slice(0, sign).trim(), line.slice(sign + 1).trim()]
  })
  if (lines.some((line) => line.indexOf('=') < 1)) return undefined
  return Object.fromEntries(pairs)
}

function differing(wanted: StorageApi.FileChange, file: StoredFile): StorageApi.FileChange {
  const known: Record<string, unknown> = { ...file }
  const changed = Object.entries(wanted).filter(([name, value]) => !isSame(value, known[name]))
  return Object.fromEntries(changed)
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
