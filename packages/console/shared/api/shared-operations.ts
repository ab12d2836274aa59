import type { IdentityApi, PaymentsApi, StorageApi, StorageKeyApi } from '@plinth/client'

// What several services offer, for the pages that their consoles share.

/** Accounts, sessions and the audit, besides what is below. */
export type AccountReplies = Pick<
  IdentityApi.Replies,
  keyof IdentityApi.Replies & keyof StorageApi.Replies
>

/** Events and the endpoints that they are sent to. */
export type EventReplies = Pick<
  PaymentsApi.Replies,
  Extract<keyof PaymentsApi.Replies, `${string} /api/${'events' | 'webhooks/endpoints'}${string}`>
>

export type ServiceKeyReplies = Pick<
  StorageKeyApi.Replies,
  Extract<keyof StorageKeyApi.Replies, `${string} /api/service-keys${string}`>
>

/** What every service says about itself. */
export type HealthReplies = Pick<
  StorageKeyApi.Replies,
  'GET /actuator/health' | 'GET /actuator/info'
>
