/** In the languages of the hosted page. */
type Texts = { en: string; de: string; es: string }

const REASONS = {
  address: {
    en: 'The application asked to be answered at an address it has not registered.',
    de: 'Die Anwendung möchte die Antwort an eine Adresse, die sie nicht registriert hat.',
    es: 'La aplicación pide la respuesta en una dirección que no ha registrado.',
  },
  client: {
    en: 'The application that sent you here is unknown or disabled.',
    de: 'Die Anwendung, die dich hierher geschickt hat, ist unbekannt oder abgeschaltet.',
    es: 'La aplicación que te ha enviado aquí es desconocida o está desactivada.',
  },
  'silent document': {
    en: 'The application that sent you here does not say who it is.',
    de: 'Die Anwendung, die dich hierher geschickt hat, sagt nicht, wer sie ist.',
    es: 'La aplicación que te ha enviado aquí no dice quién es.',
  },
  'invalid document': {
    en: 'The application that sent you here describes itself in a way that is not valid.',
    de: 'Die Anwendung, die dich hierher geschickt hat, beschreibt sich auf eine Weise, die nicht gültig ist.',
    es: 'La aplicación que te ha enviado aquí se describe de una forma que no es válida.',
  },
  pushed: {
    en: 'This request has expired, was used before, or is of another application.',
    de: 'Diese Anfrage ist abgelaufen, wurde schon benutzt oder gehört zu einer anderen Anwendung.',
    es: 'Esta solicitud ha caducado, ya se ha usado o es de otra aplicación.',
  },
  over: {
    en: 'This request was answered, has expired, or was made in another browser.',
    de: 'Diese Anfrage ist beantwortet, abgelaufen oder stammt aus einem anderen Browser.',
    es: 'Esta solicitud ya tiene respuesta, ha caducado o se hizo en otro navegador.',
  },
  'sign-out': {
    en: 'The application sent a request to sign out that is not valid.',
    de: 'Die Anwendung hat eine Anfrage zum Abmelden geschickt, die nicht gültig ist.',
    es: 'La aplicación ha enviado una solicitud de cierre de sesión que no es válida.',
  },
} satisfies Record<string, Texts>

const TITLE: Texts = {
  en: 'This did not work',
  de: 'Das hat nicht funktioniert',
  es: 'Esto no ha funcionado',
}

export type Reason = keyof typeof REASONS

/** Told to the person, because it is not certain whose request this is: nothing is sent anywhere. */
export class RequestRefused extends Error {
  readonly reason: Reason
  /** For those who run the application. */
  readonly detail: string | undefined

  constructor(reason: Reason, { detail, ...options }: ErrorOptions & { detail?: string } = {}) {
    super(withDetail(REASONS[reason].en, detail), options)
    this.reason = reason
    this.detail = detail
  }
}

export function refusalTexts({ reason, detail }: Pick<RequestRefused, 'reason' | 'detail'>) {
  const textsIn = (language: keyof Texts) => ({
    title: TITLE[language],
    text: withDetail(REASONS[reason][language], detail),
  })
  return { ...textsIn('en'), translations: { de: textsIn('de'), es: textsIn('es') } }
}

function withDetail(text: string, detail: string | undefined): string {
  return detail === undefined ? text : `${text} ${detail}`
}
