import type { Texts } from './en.ts'

export const de: Texts = {
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
  notYours: 'Wenn du dieses Konto nicht angelegt hast, sag es: Dann wird es gesperrt.',
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
  alarmTitle: 'Das warst du nicht?',
  alarmAbout:
    'Wir beenden alle Sitzungen deines Kontos, sein Passwort und seine Passkeys und senden dir eine Mail, um ein neues Passwort zu wählen.',
  alarm: 'Das war ich nicht',
  alarmed: 'Dein Konto ist gesperrt',
  deny: 'Ich habe es nicht angelegt',
  denied: 'Das Konto ist gesperrt',
  deniedAbout:
    'Es kann mit deiner Adresse nicht mehr benutzt werden. Du kannst diese Seite schließen.',
}
