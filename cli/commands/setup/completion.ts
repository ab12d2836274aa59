import { type Command, CommandError, EXIT } from '../../command.ts'

const SHELLS = ['bash', 'zsh', 'fish']

/** Takes a function because this command is itself in the list. */
export const completionOf = (listed: () => Command[]): Command => ({
  name: 'completion',
  summary: `prints a script that completes commands: ${SHELLS.join(', ')}`,
  operands: ['<shell>'],
  run: async ({ operands: [shell = ''] }) => {
    if (!SHELLS.includes(shell))
      throw new CommandError(EXIT.usage, `Expected one of ${SHELLS.join(', ')}.`)
    const text = shell === 'fish' ? forFish(listed()) : forBash(listed(), shell === 'zsh')
    return { text, json: { shell, script: text } }
  },
})

/** The words that may follow each prefix: the first words after '', the verbs after `user`, and so on. */
function wordsAfter(commands: Command[]): Map<string, Set<string>> {
  const words = new Map<string, Set<string>>([['', new Set()]])
  for (const { name, options = {} } of commands) {
    const [topic = '', verb, action] = name.split(' ')
    words.get('')?.add(topic)
    const flags = Object.keys(options).map((option) => `--${option}`)
    if (verb !== undefined) words.set(topic, (words.get(topic) ?? new Set()).add(verb))
    // The scripts look at two words, so options of a command of three follow its second.
    const before = action === undefined ? name : `${topic} ${verb}`
    const after = [...(action ? [action] : []), ...flags, '--json', '--help']
    words.set(before, new Set([...(words.get(before) ?? []), ...after]))
  }
  return words
}

function forBash(commands: Command[], zsh: boolean): string {
  const cases = [...wordsAfter(commands)].map(
    ([before, words]) => `    '${before}') words='${[...words].join(' ')}' ;;`,
  )
  return `${zsh ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_plinth() {
  local current=\${COMP_WORDS[COMP_CWORD]} before words=''
  before="\${COMP_WORDS[*]:1:COMP_CWORD > 3 ? 2 : COMP_CWORD - 1}"
  case "$before" in
${cases.join('\n')}
    *) case "\${before%% *}" in
${cases.map((line) => `  ${line}`).join('\n')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _plinth plinth`
}

function forFish(commands: Command[]): string {
  const lines = commands.flatMap(({ name, summary, options = {} }) => {
    const [topic = '', verb, action] = name.split(' ')
    const about = summary.replaceAll("'", '’')
    const seen = `__fish_seen_subcommand_from ${topic}`
    const flags = Object.entries(options).map(
      ([option, { help }]) =>
        `complete -c plinth -n '${seen}' -l ${option} -d '${help.replaceAll("'", '’')}'`,
    )
    const word =
      verb === undefined
        ? `complete -c plinth -n __fish_use_subcommand -f -a ${topic} -d '${about}'`
        : `complete -c plinth -n '${seen}' -f -a ${verb} -d '${about}'`
    const last = `complete -c plinth -n '__fish_seen_subcommand_from ${verb}' -f -a ${action}`
    return [word, ...(action ? [last] : []), ...flags]
  })
  const topics = new Set(
    commands.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0]),
  )
  const groups = [...topics].map(
    (topic) => `complete -c plinth -n __fish_use_subcommand -f -a ${topic}`,
  )
  return [...groups, ...lines].join('\n')
}
