// Upload with Uppy: files and folders, dropped into a page. An upload goes on after a lost connection or a reload.
//
// The service must admit the page: STORAGE_FULL_CORS_ORIGINS names its origin.
import { webStore } from '@plinth/client'
import { storageClient } from '@plinth/client/storage'
import Uppy from '@uppy/core'
import Dashboard from '@uppy/dashboard'
import GoldenRetriever from '@uppy/golden-retriever'
import Tus from '@uppy/tus'
import '@uppy/core/css/style.min.css'
import '@uppy/dashboard/css/style.min.css'

const { storage: url = 'http://localhost:8082' } = document.documentElement.dataset
const storage = storageClient(url, { store: webStore() })

const page = document.getElementById('app')
page.innerHTML = `<p role="status"></p>
<form>
  <input name="username" aria-label="Username" autocomplete="username">
  <input name="password" type="password" aria-label="Password" autocomplete="current-password">
  <button>Sign in</button>
</form>
<div id="files"></div>
<ul aria-label="Stored files"></ul>`
const [status, form, stored] = ['p', 'form', 'ul'].map((name) => page.querySelector(name))

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { username, password } = Object.fromEntries(new FormData(form))
  try {
    await storage.logIn(username, password)
    status.textContent = ''
    showUppy()
  } catch ({ message }) {
    status.textContent = message
  }
})
if (storage.session.signedIn) showUppy()

function showUppy() {
  form.hidden = true
  new Uppy()
    .use(Dashboard, { target: '#files', inline: true, fileManagerSelectionType: 'both' })
    .use(Tus, {
      endpoint: `${url}/file/uploads`,
      // A token lasts 15 minutes and is checked when a piece starts.
      chunkSize: 8 * 1024 * 1024,
      onBeforeRequest: async (request) => {
        const token = await storage.session.accessToken()
        request.setHeader('authorization', `Bearer ${token}`)
      },
      // Otherwise the same file, chosen again within a day, would count as uploaded even if it was deleted.
      removeFingerprintOnSuccess: true,
    })
    // Keeps the files in the browser for a day. After a reload, larger ones have to be chosen again.
    .use(GoldenRetriever, { indexedDB: { maxFileSize: 100e6, maxTotalSize: 1e9 } })
    .on('upload-success', (_, { body }) => show(Number(body.xhr.getResponseHeader('x-file-id'))))
}

async function show(id) {
  const { folder, originalFilename } = await storage.files.get(id)
  const line = document.createElement('li')
  line.textContent = `${folder === '/' ? '' : folder}/${originalFilename}`
  stored.append(line)
}
