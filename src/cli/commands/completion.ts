/**
 * Runs `bridge completion`: prints a script that completes commands, verbs and flags in bash or zsh. It is made from the
 * commands themselves.
 */
import { type CliCommand, command, noun } from '../terminal/command.ts'

/** All commands by name. */
export type LoadCommands = () => Promise<Readonly<Record<string, CliCommand>>>

/** The function of both shells that prints what may follow the words before the cursor. */
const CANDIDATES = '_bridge_candidates'

/** The command for these commands. */
export function completionOf(load: LoadCommands): CliCommand {
  const verb = (name: string, setUp: string, script: (cases: readonly string[]) => string): CliCommand =>
    command(
      {
        name: `completion ${name}`,
        does: `prints the completion for ${name}`,
        help: `In a checkout, make bridge a function first: zsh would complete the words of an alias.
  bridge() { npx --no-install bridge "$@"; }
  ${setUp}`,
        flags: {},
      },
      async (_given, { stdout }) => stdout(script(casesOf(await load()))),
    )
  return noun({
    name: 'completion',
    does: 'completion of commands, verbs and flags in a shell',
    verbs: {
      bash: verb('bash', 'source <(bridge completion bash)', bashScript),
      zsh: verb('zsh', 'source <(bridge completion zsh)', zshScript),
    },
  })
}

/** A branch of a shell's `case` for each place: the words so far, and what may follow them. */
function casesOf(commands: Readonly<Record<string, CliCommand>>): string[] {
  const names = Object.keys(commands)
  const branches = [branch('', [...names, 'help']), branch('help', names)]
  const visit = (place: string, { verbs, flags }: CliCommand): void => {
    branches.push(branch(place, [...Object.keys(verbs), ...flagsOf(flags), '--help']))
    for (const [name, verb] of Object.entries(verbs)) visit(`${place} ${name}`, verb)
  }
  for (const [name, found] of Object.entries(commands)) visit(name, found)
  return branches
}

/** The flags as they are typed; of two spellings the one without capitals. */
function flagsOf(flags: readonly string[]): string[] {
  return flags.filter((flag) => flag === flag.toLowerCase()).map((flag) => `--${flag}`)
}

function branch(place: string, candidates: readonly string[]): string {
  return `    '${place}') echo '${candidates.join(' ')}' ;;`
}

/** Prints the candidates after the words given to it: flags and arguments are passed over. */
function candidatesFunction(cases: readonly string[]): string {
  return `${CANDIDATES}_at() {
  case "$1" in
${cases.join('\n')}
    *) return 1 ;;
  esac
}
${CANDIDATES}() {
  local place='' word
  for word in "$@"; do
    if ${CANDIDATES}_at "\${place:+$place }$word" > /dev/null; then place="\${place:+$place }$word"; fi
  done
  ${CANDIDATES}_at "$place"
}`
}

function bashScript(cases: readonly string[]): string {
  return `# Completes bridge in bash. Made by: bridge completion bash
${candidatesFunction(cases)}
_bridge() {
  local words
  words=$(${CANDIDATES} "\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _bridge bridge`
}

function zshScript(cases: readonly string[]): string {
  return `#compdef bridge
# Completes bridge in zsh. Made by: bridge completion zsh
${candidatesFunction(cases)}
_bridge() {
  local candidates
  candidates=$(${CANDIDATES} "\${(@)words[2,CURRENT-1]}")
  compadd -- \${(s: :)candidates}
  # Where only flags may follow, an argument may be a file; beside verbs a file would keep them from being completed.
  if [[ $candidates == -* && $PREFIX != -* ]]; then _files; fi
}
if (( ! $+functions[compdef] )); then autoload -Uz compinit && compinit -i; fi
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _bridge "$@"; else compdef _bridge bridge; fi`
}
