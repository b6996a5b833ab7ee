import { BOOK_NAME } from "../agents/names.js";
import { commandsByPath, optionsByPath, posix, posixFunctions } from "./cases.js";
import type { Tree } from "./tree.js";

/** Returns a candidate with its description, as `_describe` reads it. */
const described = (name: string, about: string): string => posix.quoted(`${name.replaceAll(":", "\\:")}:${about}`);

/** Finds the command that the words name, and the candidates for the next word. `NAME` stands for the program. */
const walk = `__NAME_agents() {
  local name rest file=\${XDG_CONFIG_HOME:-$HOME/.config}/a2a-cli/${BOOK_NAME}
  [[ -r $file ]] || return 0
  while read -r name rest || [[ -n $name ]]; do
    [[ -n $rest && $name != '#'* ]] && reply+=("\${name}:\${rest//:/\\\\:}")
  done < $file
}

# Adds the candidates of a kind.
__NAME_add() {
  local -a reply
  case $1 in
    words\\ *) compadd -- \${=1#words } ;;
    agents)
      __NAME_agents
      _describe -t agents agent reply
      ;;
    refs)
      __NAME_agents
      _alternative 'agents:agent:(('\${(j: :)\${(q)reply[@]}}'))' 'files:file:_files'
      ;;
    files) _files ;;
    folders) _files -/ ;;
  esac
}

_NAME() {
  local place= kind= pending= word ended=
  local -a reply
  local -i i count=0
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $pending ]]; then pending=; continue; fi
    if [[ -n $ended ]]; then count+=1; continue; fi
    case $word in
      --) ended=1 ;;
      --*=*) ;;
      -*) __NAME_option $word; pending=$kind ;;
      help) ;;
      *) __NAME_descend $word || count+=1 ;;
    esac
  done
  word=\${words[CURRENT]}
  if [[ -n $pending ]]; then
    __NAME_add $pending
  elif [[ -z $ended && $word == --*=* ]]; then
    __NAME_option \${word%%=*}
    compset -P '*='
    __NAME_add $kind
  elif [[ -z $ended && $word == -* ]]; then
    __NAME_options
    _describe -o -t options option reply
  else
    __NAME_commands
    if (( $#reply )); then
      _describe -t commands command reply
    else
      __NAME_operand
      __NAME_add $kind
    fi
  fi
}

if [[ $funcstack[1] == _NAME ]]; then
  _NAME "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _NAME NAME
fi
`;

/** Returns the completion script for zsh. It starts no process. */
export function zshScript(tree: Tree): string {
  const { program } = tree;
  const listed = (rows: readonly (readonly [name: string, about: string])[]): string =>
    rows.map(([name, about]) => `\n  ${described(name, about)}`).join("");
  return `#compdef ${program}
# Completion of ${program} for zsh.

${posixFunctions(tree)}

__${program}_commands() {
  reply=()
${commandsByPath(tree, posix, (below) => `reply=(${listed(below.map(({ name, about }) => [name, about]))}\n)`)}
}

__${program}_options() {
  reply=()
${optionsByPath(tree, posix, (rows) => `reply+=(${listed(rows)}\n)`)}
}

${walk.replaceAll("NAME", program)}`;
}
