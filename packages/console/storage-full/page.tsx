import {
  accountFinders,
  administrationPages,
  ownPages,
  signInActions,
} from '../shared/account/account-pages.tsx'
import { resume } from '../shared/account/session/code-flow/provider.ts'
import { SessionBar } from '../shared/account/session/session-bar.tsx'
import { SignInAgain } from '../shared/account/session/sign-in-again.tsx'
import { inReference } from '../shared/shell/finders.ts'
import { later } from '../shared/shell/later.tsx'
import { filesIn, ownersIn } from '../shared/shell/records.ts'
import { route } from '../shared/shell/route.ts'
import { startConsole } from '../shared/shell/shell.tsx'
import './files/files.css'
import './folders/folders.css'
import { FilesPage } from './files/files-page.tsx'
import { session } from './session.ts'

const FilePage = later(async () => (await import('./files/file-page.tsx')).FilePage)
const TrashPage = later(async () => (await import('./trash/trash-page.tsx')).TrashPage)
const OwnersPage = later(async () => (await import('./storage/owners-page.tsx')).OwnersPage)
const StoragePage = later(async () => (await import('./storage/storage-page.tsx')).StoragePage)

const FileRoute = () => (route.value[1] ? <FilePage /> : <FilesPage />)

const FILES = filesIn(session)

const OWNERS = ownersIn(session)

const operations = inReference()

if (await resume(session))
  startConsole({
    title: 'Storage',
    sessionBar: (
      <>
        <SessionBar session={session} signInPath="session" />
        <SignInAgain session={session} />
      </>
    ),
    actions: () => [...signInActions(session), { title: 'Log out', run: session.logOut }],
    settings: {
      'Where files are stored': 'storage',
      'Move files to another location': 'storage',
      'Quota of each owner': 'owners',
      'Change quota, trash and versions': 'storage',
      'Restore deleted files': 'trash',
      'Change your password': 'profile',
    },
    finders: () => [
      ...(session.claims.value ? [FILES] : []),
      ...accountFinders(session, OWNERS),
      operations,
    ],
    pages: [
      { path: '', title: 'Files', icon: 'file', component: FilesPage },
      { path: 'files', title: 'File', icon: 'file', component: FileRoute, inside: '' },
      { path: 'trash', title: 'Trash', icon: 'trash', component: TrashPage },
      { path: 'owners', title: 'Owners', icon: 'people', note: 'admin', component: OwnersPage },
      { path: 'storage', title: 'Storage', icon: 'disks', note: 'admin', component: StoragePage },
      ...ownPages(session),
      ...administrationPages(session),
    ],
  })
