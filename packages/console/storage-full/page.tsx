import { administrationPages, ownPages, signInActions } from '../shared/account/account-pages.tsx'
import { resume } from '../shared/account/session/code-flow/provider.ts'
import { SessionBar } from '../shared/account/session/session-bar.tsx'
import { route } from '../shared/shell/route.ts'
import { startConsole } from '../shared/shell/shell.tsx'
import { FilePage } from './files/file-page.tsx'
import { FilesPage } from './files/files-page.tsx'
import { session } from './session.ts'
import { OwnersPage } from './storage/owners-page.tsx'
import { StoragePage } from './storage/storage-page.tsx'

const SCOPES = [
  'files:read',
  'files:write',
  'links:write',
  'users:read',
  'users:write',
  'events:read',
  'webhooks:write',
]

const EVENTS =
  'FILE_DELETED FILE_RESTORED FILE_CHANGED OWNER_ERASED MOVE_STARTED MOVE_CANCELLED STORAGE_CONFIGURED STORAGE_TESTED STORAGE_ACTIVATED'

const FileRoute = () => (route.value[1] ? <FilePage /> : <FilesPage />)

if (await resume(session))
  startConsole({
    title: 'Storage',
    sessionBar: <SessionBar session={session} signInPath="session" />,
    actions: () => [...signInActions(session), { title: 'Log out', run: session.logOut }],
    pages: [
      { path: '', title: 'Files', icon: 'file', component: FilesPage },
      { path: 'files', title: 'File', icon: 'file', component: FileRoute, inside: '' },
      { path: 'owners', title: 'Owners', icon: 'people', note: 'admin', component: OwnersPage },
      { path: 'storage', title: 'Storage', icon: 'disks', note: 'admin', component: StoragePage },
      ...ownPages(session),
      ...administrationPages(session, { scopes: SCOPES, events: EVENTS }),
    ],
  })
