import { useEffect } from 'preact/hooks'
import { Page } from '../shared/components/page.tsx'
import { Refusal } from '../shared/components/reply.tsx'
import { DropZone } from '../shared/files/drop-zone.tsx'
import { UploadList } from '../shared/files/upload-list.tsx'
import { FileDetail } from './file-detail.tsx'
import { FileList } from './file-list.tsx'
import { KeyCard } from './key-card.tsx'
import { keyAccepted, listFiles, listRefusal, queue, selectedName } from './store.ts'

export function TesterPage() {
  useEffect(() => {
    listFiles()
  }, [])
  return (
    <Page
      title="Files behind one key"
      about="One flat folder, one API key, five calls. Everything here is a plain request you can copy."
    >
      <KeyCard />
      {keyAccepted.value !== false && <DropZone onFiles={queue.add} />}
      <UploadList queue={queue} />
      {selectedName.value && <FileDetail name={selectedName.value} />}
      <Refusal reply={listRefusal.value} />
      <FileList />
    </Page>
  )
}
