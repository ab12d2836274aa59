// Generated from docs/openapi: `node test/documents/openapi.ts` writes it.
export type Acknowledgement = {
    eventId: string;
    eventType: string;
    status: "PROCESSED" | "IGNORED";
    /** It was processed before */
    duplicate: boolean;
};
export type AuditEvent = {
    id: number;
    at: string;
    event: string;
    actor: string | null;
    subject: string | null;
    address: string | null;
    requestId: string | null;
};
export type CheckoutRequest = {
    /** must be a whole number from 1 to 9007199254740991 */
    amount: number;
    /** must be a three-letter currency code */
    currency: string;
    /** must not be blank or contain NUL or a lone surrogate */
    description: string;
    /** Your name for the payment, the same for every attempt */
    businessReference: string;
    /** must not be blank or contain NUL or a lone surrogate */
    attemptReference: string;
    customerEmail?: string | null | undefined;
    providerCustomerId?: string | null | undefined;
    metadata?: Record<string, string> | null | undefined;
    successUrl?: string | null | undefined;
    cancelUrl?: string | null | undefined;
};
export type CheckoutSession = {
    paymentId: string;
    checkoutSessionId: string;
    /** Where to send the customer */
    checkoutUrl: string;
};
export type Configuration = {
    providerApiConfigured: boolean;
    webhookConfigured: boolean;
};
export type Customer = {
    id: string;
    email: string | null;
    name: string | null;
    description: string | null;
    metadata: Record<string, string>;
};
export type CustomerRequest = {
    /** must be an e-mail address */
    email: string;
    name?: string | null | undefined;
    description?: string | null | undefined;
    metadata?: Record<string, string> | null | undefined;
};
export type Delivery = {
    endpointId: string;
    url: string;
    state: "pending" | "done" | "failed" | "paused";
    nextAttemptAt: string | null;
    attempts: DeliveryAttempt[];
};
export type DeliveryAttempt = {
    n: number;
    at: string;
    durationMs: number;
    status: number | null;
    error: string | null;
    reply: string | null;
    trigger: "event" | "replay" | "recover";
};
export type Down = {
    status: "DOWN";
    reason?: string | undefined;
};
export type Event = {
    /** The id of an event */
    id: string;
    type: string;
    timestamp: string;
    source: string;
    subject: string;
    /** Grows with every event of the subject */
    sequence: number;
    apiVersion: string;
    data: Record<string, unknown>;
};
export type EventDetail = {
    event: Event;
    deliveries: Delivery[];
    forwards: EventForward[];
};
export type EventForward = {
    n: number;
    at: string;
    /** must be an address that begins with http:// or https:// */
    url: string;
    durationMs: number;
    status: number | null;
    error: string | null;
};
export type EventForwardReport = {
    /** must be an address that begins with http:// or https:// */
    url: string;
    durationMs: number;
    status: number | null;
    error: string | null;
};
export type EventPage = {
    items: Event[];
    next: string | null;
};
export type IssuedServiceKey = {
    id: number;
    name: string;
    /** The first characters */
    start: string;
    scopes: string[];
    allowedCidrs: string[];
    createdBy: string;
    createdAt: string;
    expiresAt: string;
    lastUsedAt: string | null;
    lastUsedAddress: string | null;
    revokedAt: string | null;
    replacesId: number | null;
    /** Shown only here */
    secret: string;
};
export type ListedPayment = {
    id: string;
    businessReference: string;
    providerCustomerId: string | null;
    providerCheckoutSessionId: string | null;
    providerPaymentIntentId: string | null;
    checkoutAttemptReference: string | null;
    checkoutStatus: ("OPEN" | "COMPLETE" | "EXPIRED") | null;
    /** Minor unit of the currency */
    amount: number;
    /** Minor unit of the currency */
    refundedAmount: number;
    currency: string;
    status: "PENDING" | "PAID" | "FAILED" | "PARTIALLY_REFUNDED" | "REFUNDED";
    createdAt: string;
    updatedAt: string;
    /** What does not add up; empty is normal */
    anomalies: string[];
};
export type NewWebhookEndpoint = {
    id: string;
    url: string;
    description: string;
    /** The event types it gets; all when empty */
    types: string[];
    state: "active" | "paused" | "disabled";
    stateReason: string | null;
    createdAt: string;
    createdBy: string;
    firstFailureAt: string | null;
    lastSuccessAt: string | null;
    /** Verifies the signature of each delivery */
    secret: string;
};
export type PageOfAuditEvents = {
    content: AuditEvent[];
    pageable: {
        pageNumber: number;
        pageSize: number;
        offset: number;
        paged: boolean;
        unpaged: boolean;
        sort: {
            empty: boolean;
            sorted: boolean;
            unsorted: boolean;
        };
    };
    last: boolean;
    totalPages: number;
    totalElements: number;
    size: number;
    number: number;
    sort: {
        empty: boolean;
        sorted: boolean;
        unsorted: boolean;
    };
    first: boolean;
    numberOfElements: number;
    empty: boolean;
    page: {
        size: number;
        number: number;
        totalElements: number;
        totalPages: number;
    };
};
export type PageOfCustomers = {
    customers: Customer[];
    next: string | null;
};
export type PageOfPayments = {
    content: ListedPayment[];
    pageable: {
        pageNumber: number;
        pageSize: number;
        offset: number;
        paged: boolean;
        unpaged: boolean;
        sort: {
            empty: boolean;
            sorted: boolean;
            unsorted: boolean;
        };
    };
    last: boolean;
    totalPages: number;
    totalElements: number;
    size: number;
    number: number;
    sort: {
        empty: boolean;
        sorted: boolean;
        unsorted: boolean;
    };
    first: boolean;
    numberOfElements: number;
    empty: boolean;
    page: {
        size: number;
        number: number;
        totalElements: number;
        totalPages: number;
    };
};
export type PageOfWebhookEvents = {
    content: WebhookEvent[];
    pageable: {
        pageNumber: number;
        pageSize: number;
        offset: number;
        paged: boolean;
        unpaged: boolean;
        sort: {
            empty: boolean;
            sorted: boolean;
            unsorted: boolean;
        };
    };
    last: boolean;
    totalPages: number;
    totalElements: number;
    size: number;
    number: number;
    sort: {
        empty: boolean;
        sorted: boolean;
        unsorted: boolean;
    };
    first: boolean;
    numberOfElements: number;
    empty: boolean;
    page: {
        size: number;
        number: number;
        totalElements: number;
        totalPages: number;
    };
};
export type Payment = {
    id: string;
    businessReference: string;
    providerCustomerId: string | null;
    providerCheckoutSessionId: string | null;
    providerPaymentIntentId: string | null;
    checkoutAttemptReference: string | null;
    checkoutStatus: ("OPEN" | "COMPLETE" | "EXPIRED") | null;
    /** Minor unit of the currency */
    amount: number;
    /** Minor unit of the currency */
    refundedAmount: number;
    currency: string;
    status: "PENDING" | "PAID" | "FAILED" | "PARTIALLY_REFUNDED" | "REFUNDED";
    createdAt: string;
    updatedAt: string;
};
export type PaymentEventData = {
    paymentId: string;
    businessReference: string;
    status: "PENDING" | "PAID" | "FAILED" | "PARTIALLY_REFUNDED" | "REFUNDED";
    checkoutStatus: ("OPEN" | "COMPLETE" | "EXPIRED") | null;
    /** Minor unit */
    amount: number;
    /** Minor unit */
    refundedAmount: number;
    currency: string;
};
/** What went wrong (RFC 9457). Branch on `code`; `detail` is for people. */
export type Problem = {
    type: "about:blank";
    title: string;
    status: number;
    detail: string;
    /** The path of the request. */
    instance: string;
    /** Stable, in upper case. */
    code: string;
    requestId: string;
};
export type ProtectedResourceMetadata = {
    resource: string;
    authorization_servers: string[];
    bearer_methods_supported: string[];
};
export type ProviderEvent = {
    id: string;
    object: "event";
    type: string;
    data: {
        object: Record<string, unknown>;
    };
} & Record<string, unknown>;
export type ReceivedWebhookEvent = {
    id: string;
    type: string;
    status: "PROCESSED" | "IGNORED" | "FAILED" | "DEAD";
    source: "webhook" | "poll";
    paymentId: string | null;
    parkedFor: string | null;
    tries: number;
    nextTryAt: string | null;
    error: string | null;
    receivedAt: string;
    processedAt: string | null;
    sizeBytes: number;
    payload: Record<string, unknown> | null;
};
export type Refund = {
    id: string;
    paymentId: string | null;
    paymentIntentId: string | null;
    /** Minor unit of the currency */
    amount: number;
    currency: string;
    status: string;
    reason: string | null;
    metadata: Record<string, string>;
};
export type RefundEventData = {
    refundId: string;
    paymentId: string | null;
    /** Minor unit */
    amount: number;
    currency: string;
    status: string;
};
export type RefundRequest = {
    amount?: number | null | undefined;
    reason?: string | null | undefined;
    /** Repeated calls with the same reference create one refund */
    reference: string;
    metadata?: Record<string, string> | null | undefined;
};
export type Repeated = {
    count: number;
};
export type SentTest = {
    eventId: string;
};
export type ServiceIndex = {
    name: string;
    version: string;
    links: {
        console?: string | undefined;
        health?: string | undefined;
        openapi?: string | undefined;
        reference?: string | undefined;
    };
};
export type ServiceKey = {
    id: number;
    name: string;
    /** The first characters */
    start: string;
    scopes: string[];
    allowedCidrs: string[];
    createdBy: string;
    createdAt: string;
    expiresAt: string;
    lastUsedAt: string | null;
    lastUsedAddress: string | null;
    revokedAt: string | null;
    replacesId: number | null;
};
export type ServiceKeyEventData = {
    keyId: number;
};
export type Timeline = {
    paymentId: string;
    status: "PENDING" | "PAID" | "FAILED" | "PARTIALLY_REFUNDED" | "REFUNDED";
    checkoutStatus: ("OPEN" | "COMPLETE" | "EXPIRED") | null;
    /** Why the status is what it is */
    explanation: string;
    /** What does not add up; empty is normal */
    anomalies: string[];
    /** Minor unit of the currency */
    refundableAmount: number;
    nextCheckAt: string | null;
    attempts: {
        sequence: number;
        reference: string;
        state: string;
        sessionId: string | null;
        paymentIntentId: string | null;
        expiresAt: string | null;
        url: string | null;
    }[];
    refunds: {
        id: string;
        paymentIntentId: string | null;
        /** Minor unit of the currency */
        amount: number;
        status: string;
        reason: string | null;
    }[];
    observations: {
        paymentId: string | null;
        at: string;
        source: string;
        kind: string;
        subject: string | null;
        eventId: string | null;
        note: string | null;
        anomaly: string | null;
        statusBefore: string | null;
        statusAfter: string | null;
    }[];
};
export type Up = {
    status: "UP" | "DEGRADED";
    reason?: string | undefined;
};
export type WebhookEndpoint = {
    id: string;
    url: string;
    description: string;
    /** The event types it gets; all when empty */
    types: string[];
    state: "active" | "paused" | "disabled";
    stateReason: string | null;
    createdAt: string;
    createdBy: string;
    firstFailureAt: string | null;
    lastSuccessAt: string | null;
};
export type WebhookEndpointChange = {
    /** must not contain control characters */
    url?: string | undefined;
    description?: string | undefined;
    /** The event types it gets; all when empty */
    types?: string[] | undefined;
    state?: "active" | "paused" | undefined;
};
export type WebhookEndpointRequest = {
    /** must not contain control characters */
    url: string;
    description?: string | undefined;
    /** The event types it gets; all when empty */
    types?: string[] | undefined;
};
export type WebhookEvent = {
    id: string;
    type: string;
    status: "PROCESSED" | "IGNORED" | "FAILED" | "DEAD";
    source: "webhook" | "poll";
    paymentId: string | null;
    parkedFor: string | null;
    tries: number;
    nextTryAt: string | null;
    error: string | null;
    receivedAt: string;
    processedAt: string | null;
    sizeBytes: number;
};
export type WebhookSecret = {
    /** Verifies the signature of each delivery */
    secret: string;
};
export type Replies = {
    "GET /.well-known/oauth-protected-resource": ProtectedResourceMetadata;
    "GET /api/configuration": Configuration;
    "POST /api/customers": Customer;
    "GET /api/customers": PageOfCustomers;
    "GET /api/customers/{id}": Customer;
    "POST /api/checkout/sessions": CheckoutSession;
    "GET /api/payments/{id}": Payment;
    "POST /api/payments/{id}/refund": Refund;
    "GET /api/refunds/{id}": Refund;
    "GET /api/payments": PageOfPayments;
    "GET /api/payments/{id}/timeline": Timeline;
    "GET /api/audit": PageOfAuditEvents;
    "GET /api/webhook-events": PageOfWebhookEvents;
    "GET /api/webhook-events/{id}": ReceivedWebhookEvent;
    "POST /api/webhook-events/{id}/retry": Acknowledgement;
    "POST /api/payments/{id}/check": unknown;
    "POST /api/webhooks/endpoints": NewWebhookEndpoint;
    "GET /api/webhooks/endpoints": WebhookEndpoint[];
    "GET /api/webhooks/endpoints/{id}": WebhookEndpoint;
    "PATCH /api/webhooks/endpoints/{id}": WebhookEndpoint;
    "DELETE /api/webhooks/endpoints/{id}": unknown;
    "GET /api/webhooks/endpoints/{id}/secret": WebhookSecret;
    "POST /api/webhooks/endpoints/{id}/rotate-secret": WebhookSecret;
    "POST /api/webhooks/endpoints/{id}/test": SentTest;
    "GET /api/events": EventPage;
    "GET /api/events/stream": unknown;
    "GET /api/events/{id}": EventDetail;
    "POST /api/events/{id}/replay": Repeated;
    "POST /api/webhooks/endpoints/{id}/recover": Repeated;
    "POST /api/events/{id}/forwards": unknown;
    "POST /api/service-keys": IssuedServiceKey;
    "GET /api/service-keys": ServiceKey[];
    "POST /api/service-keys/{id}/rotate": IssuedServiceKey;
    "DELETE /api/service-keys/{id}": unknown;
    "GET /actuator/health": Up;
    "GET /actuator": {
        _links: {
            self: {
                href: string;
                templated: boolean;
            };
            health: {
                href: string;
                templated: boolean;
            };
            "health-path": {
                href: string;
                templated: boolean;
            };
            info: {
                href: string;
                templated: boolean;
            };
        };
    };
    "GET /actuator/info": {
        app: {
            name: string;
            version: string;
        };
    };
    "GET /actuator/health/liveness": Up;
    "GET /actuator/health/readiness": Up;
    "GET /api-test": unknown;
    "GET /": ServiceIndex;
    "GET /reference": unknown;
    /** OpenAPI 3.1 */
    "GET /openapi.json": Record<string, unknown>;
    "POST /api/provider/webhook": Acknowledgement;
};
export type Bodies = {
    "POST /api/customers": CustomerRequest;
    "POST /api/checkout/sessions": CheckoutRequest;
    "POST /api/payments/{id}/refund": RefundRequest;
    "POST /api/webhooks/endpoints": WebhookEndpointRequest;
    "PATCH /api/webhooks/endpoints/{id}": WebhookEndpointChange;
    "POST /api/events/{id}/replay": {
        endpointId?: string | undefined;
    };
    "POST /api/webhooks/endpoints/{id}/recover": {
        /** must be a time such as 2030-01-01T12:00:00Z */
        since: string;
        /** must be a time such as 2030-01-01T12:00:00Z */
        until?: string | undefined;
        failedOnly?: boolean | undefined;
    };
    "POST /api/events/{id}/forwards": EventForwardReport;
    "POST /api/service-keys": {
        /** must not be blank or contain control characters */
        name: string;
        scopes: string[];
        allowedCidrs?: string[] | undefined;
        /** must be a whole number from 1 to 3650 */
        lifetimeDays?: number | undefined;
    };
    "POST /api/service-keys/{id}/rotate": {
        overlapSeconds?: number | undefined;
    };
    "POST /api/provider/webhook": ProviderEvent;
};
export type Queries = {
    "GET /api/customers": {
        /** The whole address */
        email?: string | undefined;
        /** The `next` of the previous page */
        after?: string | undefined;
        /** From 1 to 100; a larger number counts as 100, anything else as 20 */
        size?: number | undefined;
    };
    "GET /api/payments": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        sort?: string[] | undefined;
        /** must not contain NUL */
        businessReference?: string | undefined;
        /** The business reference, or a part of one of the newest 10,000 payments, in any case */
        contains?: string | undefined;
        status?: "PENDING" | "PAID" | "FAILED" | "PARTIALLY_REFUNDED" | "REFUNDED" | undefined;
        /** Inclusive */
        createdFrom?: string | undefined;
        /** Exclusive */
        createdTo?: string | undefined;
        /** Minor unit of the currency */
        amountFrom?: number | undefined;
        /** Minor unit of the currency */
        amountTo?: number | undefined;
    };
    "GET /api/audit": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        sort?: string[] | undefined;
    };
    "GET /api/webhook-events": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        sort?: string[] | undefined;
        /** must not contain NUL */
        status?: string | undefined;
        /** must not contain NUL */
        type?: string | undefined;
    };
    "GET /api/events": {
        /** The id of an event */
        after?: string | undefined;
        /** Separated by commas */
        types?: string | undefined;
        /** What the events are about */
        subject?: string | undefined;
        /** must be a time such as 2030-01-01T12:00:00Z */
        since?: string | undefined;
        state?: "pending" | "done" | "failed" | undefined;
        order?: "asc" | "desc" | undefined;
        /** must be from 1 to 100 */
        limit?: string | undefined;
    };
    "GET /api/events/stream": {
        /** The id of an event */
        after?: string | undefined;
        /** Separated by commas */
        types?: string | undefined;
        /** What the events are about */
        subject?: string | undefined;
        /** must be a time such as 2030-01-01T12:00:00Z */
        since?: string | undefined;
    };
};
export type EventData = {
    "payment.created": PaymentEventData;
    "payment.paid": PaymentEventData;
    "payment.failed": PaymentEventData;
    "payment.expired": PaymentEventData;
    "refund.succeeded": RefundEventData;
    "refund.failed": RefundEventData;
    "service_key.created": ServiceKeyEventData;
    "service_key.rotated": ServiceKeyEventData;
    "service_key.revoked": ServiceKeyEventData;
    "service_key.expiring": ServiceKeyEventData;
    ping: {
        endpointId: string;
    };
    "endpoint.disabled": {
        endpointId: string;
        state: string;
        reason: string;
    };
};
export type ProblemDetails = {
    providerCode?: string | undefined;
    param?: string | undefined;
    errors?: string[] | undefined;
    refundableAmount?: number | undefined;
    existingRefund?: {
        id: string;
        status: string;
        amount: number;
    };
};
export type ProblemCode = "ACCESS_DENIED" | "AMBIGUOUS_HOST" | "ATTEMPT_REFERENCE_REUSED" | "AUTHENTICATION_REQUIRED" | "BODY_TOO_LARGE" | "CHECKOUT_PROCESSING" | "CURSOR_GONE" | "DATABASE_UNAVAILABLE" | "DELIVERY_INCOMPATIBLE" | "ENDPOINT_NOT_ACTIVE" | "ENDPOINT_NOT_FOUND" | "EVENT_MALFORMED" | "EVENT_NOT_FOUND" | "EVENT_PROCESSING_FAILED" | "INSUFFICIENT_SCOPE" | "INTERNAL_ERROR" | "INVALID_ACCESS_TOKEN" | "INVALID_SERVICE_KEY" | "ISSUER_UNAVAILABLE" | "KEY_IN_BROWSER" | "MALFORMED_BODY" | "MALFORMED_REQUEST" | "MISDIRECTED_REQUEST" | "MISSING_HOST" | "PAYMENT_ALREADY_SETTLED" | "PAYMENT_BUSY" | "PAYMENT_DIFFERS" | "PAYMENT_INTENT_MISSING" | "PAYMENT_NOT_FOUND" | "PAYMENT_NOT_REFUNDABLE" | "PROVIDER_BUSY" | "PROVIDER_CREDENTIAL_REJECTED" | "PROVIDER_FAILED" | "PROVIDER_INCONSISTENT" | "PROVIDER_NOT_CONFIGURED" | "PROVIDER_RATE_LIMITED" | "PROVIDER_REFERENCE_REUSED" | "PROVIDER_REJECTED_REQUEST" | "PROVIDER_RESOURCE_NOT_FOUND" | "PROVIDER_UNAVAILABLE" | "REAUTHENTICATION_REQUIRED" | "REFUND_EXCEEDS_BALANCE" | "REFUND_REFERENCE_REUSED" | "REQUEST_TIMEOUT" | "RETURN_URL_NOT_ALLOWED" | "SERVICE_KEY_ENDED" | "SERVICE_KEY_NOT_FOUND" | "SIGNATURE_INVALID" | "SIGNATURE_MISSING" | "STORAGE_FULL" | "STORAGE_READ_ONLY" | "TOO_MANY_ENDPOINTS" | "TOO_MANY_REQUESTS" | "TOO_MANY_STREAMS" | "TOO_MANY_UNFINISHED_REQUESTS" | "UNSUPPORTED_MEDIA_TYPE" | "URL_NOT_ALLOWED" | "VALIDATION_ERROR" | "WEBHOOKS_NOT_CONFIGURED" | "WEBHOOK_NOT_CONFIGURED";
