import type { TemporaryLink } from '@plinth/client'
import { session } from '../session.ts'

export type KnownLink = {
  id: number
  createdAt: string
  expiresAt: string
  openedCount?: number
}

export const createLink = (id: number, expiresInSeconds: number) =>
  session.api.post<TemporaryLink>('/file/generate-pre-signed-url', { id, expiresInSeconds })

export const listLinks = (id: number) => session.api.get<KnownLink[]>(`/file/${id}/links`)

export const revokeLink = (id: number, linkId: number) =>
  session.api.delete(`/file/${id}/links/${linkId}`)
