import type { OpenSession, Reason, UserSummary } from '../accounts.ts'
import { jsonOf, nothingOf } from '../http/request.ts'

export type Invitation = { username: string; email: string; roles?: string[] | undefined } & Reason

/** Accounts from creation to erasure. Calls that take a reason are for administrators. */
export type LifecycleCalls = {
  /** Returns JSON in the body. */
  exportOwnData(): Promise<Response>
  /** Sends a mail: its link, or `downloadExport` with its token, returns the document. */
  requestExport(): Promise<{ message: string }>
  downloadExport(token: string): Promise<Response>
  deleteOwnAccount(): Promise<{ deletesAt: string }>
  /** Takes the token from the mail, or from a login refused with DELETION_PENDING. */
  keepOwnAccount(token: string): Promise<void>
  createUser(invitation: Invitation): Promise<UserSummary>
  requirePasswordChange(id: number, reason: string): Promise<void>
  exportDataOfUser(id: number, reason: string): Promise<Response>
  deleteUser(id: number, reason: string): Promise<{ deletesAt: string }>
  keepUser(id: number, reason: string): Promise<void>
  /** Pass `next` to get the next page. Also for a service key with the scope `tokens:introspect`. */
  deletedUsers(
    after?: string,
  ): Promise<{ items: { id: number; deletedAt: string }[]; next: string | null }>
}

export function lifecycleCalls({ send, calling }: OpenSession): LifecycleCalls {
  return {
    exportOwnData: () => calling('POST', '/api/users/me/export/file', { stream: true }),
    requestExport: () => jsonOf(calling('POST', '/api/users/me/export')),
    downloadExport: (token) =>
      send('POST', '/api/users/me/export/download', { json: { token }, stream: true }),
    deleteOwnAccount: () => jsonOf(calling('DELETE', '/api/users/me')),
    keepOwnAccount: (token) =>
      nothingOf(send('POST', '/api/users/me/deletion/cancel', { json: { token } })),
    createUser: (json) => jsonOf(calling('POST', '/api/users', { json })),
    requirePasswordChange: (id, reason) =>
      nothingOf(calling('POST', `/api/users/${id}/require-password-change`, { json: { reason } })),
    exportDataOfUser: (id, reason) =>
      calling('POST', `/api/users/${id}/export`, { json: { reason }, stream: true }),
    deleteUser: (id, reason) => jsonOf(calling('DELETE', `/api/users/${id}`, { json: { reason } })),
    keepUser: (id, reason) =>
      nothingOf(calling('POST', `/api/users/${id}/deletion/cancel`, { json: { reason } })),
    deletedUsers: (after) => jsonOf(calling('GET', '/api/users/deleted', { query: { after } })),
  }
}
