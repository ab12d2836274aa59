import { SignedInOnly } from '../../shared/account/session/sign-in.tsx'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Page } from '../../shared/components/page.tsx'
import { Loaded } from '../../shared/components/reply.tsx'
import { route } from '../../shared/shell/route.ts'
import { shortId } from '../../shared/wording.ts'
import { placeOf } from '../folders/folders.ts'
import { session } from '../session.ts'
import { DetailsCard } from './details-card.tsx'
import { LinksCard } from './links.tsx'
import { PreviewCard } from './preview-card.tsx'
import { VersionsCard } from './versions-card.tsx'

export function FilePage() {
  const [, id = ''] = route.value
  return (
    <SignedInOnly session={session}>
      <FileDetail id={id} />
    </SignedInOnly>
  )
}

function FileDetail({ id }: { id: string }) {
  const file = useLoad(() => session.api.get('/file/info/{id}', { path: { id } }), [id])
  const href = file.body ? placeOf(file.body) : '#/'
  return (
    <Page
      title={file.body?.originalFilename ?? `File ${shortId(id)}`}
      back={{ href, title: href === '#/' ? 'All files' : (file.body?.folder ?? '') }}
    >
      <Loaded of={file}>
        {(body) => (
          <>
            <PreviewCard key={body.checksumSha256} file={body} />
            <DetailsCard file={body} onChange={file.reload} />
            <VersionsCard file={body} onChange={file.reload} />
            <LinksCard file={body} />
          </>
        )}
      </Loaded>
    </Page>
  )
}
