import { useSignal } from '@preact/signals'
import { problemIn } from '../../shared/api/api.ts'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../../shared/components/button.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Announced, Refusal } from '../../shared/components/reply.tsx'
import { downloadArchive } from '../files/archive.ts'
import { Breadcrumbs } from './breadcrumbs.tsx'
import {
  createFolder,
  deleteFolder,
  goToFolder,
  joined,
  knownFolders,
  moveFolder,
  nameOf,
  parentOf,
  ROOT,
} from './folders.ts'
import { FOLDER } from './icon.ts'

type Asked = 'new' | 'move' | undefined

/** The way to the folder that is shown, and what can be done in it and with it. */
export function FolderBar({ path }: { path: string }) {
  const asked = useSignal<Asked>(undefined)
  const made = useSignal('')
  const ask = (what: Asked) => () => {
    made.value = ''
    asked.value = asked.value === what ? undefined : what
  }
  const create = useAction(async ({ name = '' }: Values) => {
    const reply = await createFolder(joined(path, `/${name.replace(/^\/+/, '')}`))
    if (reply.ok) {
      asked.value = undefined
      made.value = `The folder ${reply.body.path} is there.`
    }
    return reply
  })
  const move = useAction(async ({ to = '' }: Values) => {
    const reply = await moveFolder(path, to)
    if (reply.ok) goToFolder(reply.body.path)
    return reply
  })
  const removal = useAction(async (recursive: boolean) => {
    const reply = await deleteFolder(path, recursive)
    if (reply.ok) goToFolder(parentOf(path))
    return reply
  })
  const zip = useAction(() =>
    downloadArchive({ folders: [path], name: `${nameOf(path) || 'files'}.zip` }),
  )
  const isFull = problemIn(removal.refusal)?.code === 'FOLDER_NOT_EMPTY'
  return (
    <div class="stack tight">
      <div class="row apart">
        <Breadcrumbs path={path} />
        <div class="row">
          <Button small icon={FOLDER} expanded={asked.value === 'new'} onClick={ask('new')}>
            New folder
          </Button>
          <Button
            small
            icon="download"
            busy={zip.busy}
            subject="of this folder"
            onClick={() => zip.run()}
          >
            ZIP
          </Button>
          {path !== ROOT && (
            <>
              <Button small expanded={asked.value === 'move'} onClick={ask('move')}>
                Rename or move
              </Button>
              <ConfirmButton
                small
                kind="danger"
                icon="trash"
                busy={removal.busy}
                question={
                  isFull
                    ? 'Move everything in it to the trash?'
                    : 'Delete this folder if it is empty?'
                }
                yes={isFull ? 'Move it all' : 'Delete it'}
                no="Keep it"
                onClick={() => removal.run(isFull)}
              >
                {isFull ? 'Delete with its files' : 'Delete the folder'}
              </ConfirmButton>
            </>
          )}
        </div>
      </div>
      {asked.value === 'new' && (
        <Form
          label="New folder"
          fields={[{ label: 'Name', name: 'name', focused: true, maxLength: 255 }]}
          action={create}
          send="Create it"
          beside
        />
      )}
      {asked.value === 'move' && (
        <Form
          label="Rename or move the folder"
          fields={[
            {
              label: 'New path',
              name: 'to',
              value: path,
              suggestions: knownFolders(),
              focused: true,
            },
          ]}
          action={move}
          send="Move it"
          beside
        />
      )}
      <Refusal reply={removal.refusal}>
        {isFull && <p>Press the button again to delete it with its files.</p>}
      </Refusal>
      <Refusal reply={zip.refusal} />
      <Announced class="small soft">{made.value}</Announced>
    </div>
  )
}
