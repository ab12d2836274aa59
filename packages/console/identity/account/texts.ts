const en = {
  forgotTitle: 'Forgot your password?',
  forgotAbout:
    'Enter the e-mail address of your account. We send a code and a link to choose a new one.',
  email: 'E-mail address',
  emailRefused: 'This is not an e-mail address.',
  send: 'Send the mail',
  sentTitle: 'Look into your inbox',
  sentAbout:
    'If there is an account with this address, a mail is on its way. Open its link, or enter its code here.',
  code: 'Code from the mail',
  codeRefused: 'Enter the eight digits of the mail.',
  resetTitle: 'Choose a new password',
  resetAbout: 'Every device is signed out when you save it.',
  newPassword: 'New password',
  passwordRefused: 'This password is too short, too common, or your own name.',
  passwordHint: 'At least {count} characters.',
  save: 'Save the password',
  resetDone: 'Your new password is saved',
  resetDoneAbout: 'Every device was signed out. Sign in with the new password.',
  verifyTitle: 'Is this your account?',
  verifyAbout: '{username} was registered with {email} on {date}.',
  confirm: 'Confirm',
  verified: 'Your e-mail address is confirmed',
  notYours: 'If you did not create this account, close this page: nothing happens.',
  emailTitle: 'Use this address from now on?',
  emailAbout: 'Your account moves to the address that this mail was sent to.',
  emailDone: 'Your new e-mail address is in use',
  undoTitle: 'Restore your old address?',
  undoAbout:
    'Your account gets its old address back, every device is signed out, passkeys are removed, and we send you a mail to choose a new password.',
  undo: 'Restore it',
  undone: 'Your old address is restored',
  undoneAbout: 'Look into your inbox for the mail to choose a new password.',
  keepTitle: 'Keep your account?',
  keepAbout:
    'It is about to be erased with everything in it. If you keep it, you can sign in as before.',
  keep: 'Keep the account',
  kept: 'Your account stays',
  keptAbout: 'You can sign in as before.',
  close: 'You can close this page.',
  invalid:
    'This link or code does not work any more: it was used, replaced by a newer mail, or has expired.',
  again: 'Ask for a new mail',
  taken: 'This address belongs to another account in the meantime.',
  failed: 'That did not work. Try again in a moment.',
  factor: 'Code of your authenticator',
  factorHint: 'Six digits, or one of your recovery codes.',
  factorAsked: 'Your account has a second factor: enter its code, too.',
  factorRefused: 'This code is wrong or was used before. Wait for the next one.',
  factorLocked: 'There were too many wrong codes. Use a recovery code, or try again later.',
}

export type Texts = typeof en

const de: Texts = {
  forgotTitle: 'Passwort vergessen?',
  forgotAbout:
    'Gib die E-Mail-Adresse deines Kontos ein. Wir senden dir einen Code und einen Link, um ein neues zu wählen.',
  email: 'E-Mail-Adresse',
  emailRefused: 'Das ist keine E-Mail-Adresse.',
  send: 'Mail senden',
  sentTitle: 'Sieh in deinem Posteingang nach',
  sentAbout:
    'Wenn es ein Konto mit dieser Adresse gibt, ist eine Mail unterwegs. Öffne ihren Link oder gib ihren Code hier ein.',
  code: 'Code aus der Mail',
  codeRefused: 'Gib die acht Ziffern aus der Mail ein.',
  resetTitle: 'Wähle ein neues Passwort',
  resetAbout: 'Beim Speichern werden alle Geräte abgemeldet.',
  newPassword: 'Neues Passwort',
  passwordRefused: 'Dieses Passwort ist zu kurz, zu häufig oder dein Name.',
  passwordHint: 'Mindestens {count} Zeichen.',
  save: 'Passwort speichern',
  resetDone: 'Dein neues Passwort ist gespeichert',
  resetDoneAbout: 'Alle Geräte wurden abgemeldet. Melde dich mit dem neuen Passwort an.',
  verifyTitle: 'Ist das dein Konto?',
  verifyAbout: '{username} wurde am {date} mit {email} registriert.',
  confirm: 'Bestätigen',
  verified: 'Deine E-Mail-Adresse ist bestätigt',
  notYours: 'Wenn du dieses Konto nicht angelegt hast, schließe diese Seite: Es passiert nichts.',
  emailTitle: 'Diese Adresse ab jetzt verwenden?',
  emailAbout: 'Dein Konto wechselt zu der Adresse, an die diese Mail ging.',
  emailDone: 'Deine neue E-Mail-Adresse ist in Gebrauch',
  undoTitle: 'Alte Adresse wiederherstellen?',
  undoAbout:
    'Dein Konto bekommt seine alte Adresse zurück, alle Geräte werden abgemeldet, Passkeys entfernt, und wir senden dir eine Mail, um ein neues Passwort zu wählen.',
  undo: 'Wiederherstellen',
  undone: 'Deine alte Adresse ist wiederhergestellt',
  undoneAbout: 'Sieh in deinem Posteingang nach der Mail für ein neues Passwort.',
  keepTitle: 'Konto behalten?',
  keepAbout:
    'Es soll mit allem darin gelöscht werden. Wenn du es behältst, kannst du dich wie zuvor anmelden.',
  keep: 'Konto behalten',
  kept: 'Dein Konto bleibt bestehen',
  keptAbout: 'Du kannst dich wie zuvor anmelden.',
  close: 'Du kannst diese Seite schließen.',
  invalid:
    'Dieser Link oder Code gilt nicht mehr: Er wurde benutzt, durch eine neuere Mail ersetzt oder ist abgelaufen.',
  again: 'Neue Mail anfordern',
  taken: 'Diese Adresse gehört inzwischen zu einem anderen Konto.',
  failed: 'Das hat nicht geklappt. Versuche es gleich noch einmal.',
  factor: 'Code deiner Authenticator-App',
  factorHint: 'Sechs Ziffern oder einer deiner Wiederherstellungscodes.',
  factorAsked: 'Dein Konto hat einen zweiten Faktor: Gib auch dessen Code ein.',
  factorRefused: 'Dieser Code ist falsch oder wurde schon benutzt. Warte auf den nächsten.',
  factorLocked:
    'Es waren zu viele falsche Codes. Nimm einen Wiederherstellungscode oder versuche es später.',
}

const es: Texts = {
  forgotTitle: '¿Has olvidado la contraseña?',
  forgotAbout:
    'Introduce la dirección de correo de tu cuenta. Te enviamos un código y un enlace para elegir otra.',
  email: 'Dirección de correo',
  emailRefused: 'Esto no es una dirección de correo.',
  send: 'Enviar el correo',
  sentTitle: 'Mira tu correo',
  sentAbout:
    'Si hay una cuenta con esta dirección, te llegará un mensaje. Abre su enlace o introduce aquí su código.',
  code: 'Código del mensaje',
  codeRefused: 'Introduce los ocho dígitos del mensaje.',
  resetTitle: 'Elige una contraseña nueva',
  resetAbout: 'Al guardarla se cierran las sesiones de todos los dispositivos.',
  newPassword: 'Contraseña nueva',
  passwordRefused: 'Esta contraseña es demasiado corta, demasiado común o tu nombre.',
  passwordHint: 'Al menos {count} caracteres.',
  save: 'Guardar la contraseña',
  resetDone: 'Tu contraseña nueva está guardada',
  resetDoneAbout: 'Se han cerrado todas las sesiones. Entra con la contraseña nueva.',
  verifyTitle: '¿Es esta tu cuenta?',
  verifyAbout: '{username} se registró con {email} el {date}.',
  confirm: 'Confirmar',
  verified: 'Tu dirección de correo está confirmada',
  notYours: 'Si no has creado esta cuenta, cierra esta página: no pasa nada.',
  emailTitle: '¿Usar esta dirección a partir de ahora?',
  emailAbout: 'Tu cuenta pasa a la dirección a la que se envió este mensaje.',
  emailDone: 'Tu nueva dirección de correo está en uso',
  undoTitle: '¿Restaurar tu dirección anterior?',
  undoAbout:
    'Tu cuenta recupera su dirección anterior, se cierran todas las sesiones, se eliminan las llaves de acceso y te enviamos un mensaje para elegir otra contraseña.',
  undo: 'Restaurar',
  undone: 'Tu dirección anterior está restaurada',
  undoneAbout: 'Busca en tu correo el mensaje para elegir otra contraseña.',
  keepTitle: '¿Conservar tu cuenta?',
  keepAbout: 'Se va a borrar con todo su contenido. Si la conservas, podrás entrar como antes.',
  keep: 'Conservar la cuenta',
  kept: 'Tu cuenta se conserva',
  keptAbout: 'Puedes entrar como antes.',
  close: 'Puedes cerrar esta página.',
  invalid:
    'Este enlace o código ya no vale: se ha usado, lo ha sustituido un mensaje más nuevo o ha caducado.',
  again: 'Pedir otro mensaje',
  taken: 'Esta dirección pertenece ahora a otra cuenta.',
  failed: 'No ha funcionado. Inténtalo de nuevo dentro de un momento.',
  factor: 'Código de tu aplicación de autenticación',
  factorHint: 'Seis cifras, o uno de tus códigos de recuperación.',
  factorAsked: 'Tu cuenta tiene un segundo factor: escribe también su código.',
  factorRefused: 'Este código es incorrecto o ya se ha usado. Espera al siguiente.',
  factorLocked:
    'Ha habido demasiados códigos incorrectos. Usa un código de recuperación o inténtalo más tarde.',
}

const language = navigator.languages
  .map((tag) => tag.slice(0, 2).toLowerCase())
  .find((tag) => ['en', 'de', 'es'].includes(tag))

document.documentElement.lang = language ?? 'en'

/** In the first of the reader's languages that we have. */
export const texts: Texts = { en, de, es }[language ?? 'en'] ?? en

export function filled(text: string, values: Record<string, string | number>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
}

const FAILURES: Record<string, string> = {
  TOKEN_INVALID: texts.invalid,
  EMAIL_ALREADY_EXISTS: texts.taken,
  MFA_REQUIRED: texts.factorAsked,
  INVALID_CODE: texts.factorRefused,
  TOO_MANY_ATTEMPTS: texts.factorLocked,
}

/** A refusal in the language of the reader. */
export function failureText(code: string | undefined): string {
  return FAILURES[code ?? ''] ?? texts.failed
}
