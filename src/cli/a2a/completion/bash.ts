import { BOOK_NAME } from "../agents/names.js";
import { commandsByPath, optionsByPath, posix, posixFunctions } from "./cases.js";
import type { Tree } from "./tree.js";

/** Finds the command that the words name, and the candidates for the next word. `NAME` stands for the program. */
const walk = `__NAME_agents() {
  local name rest file="\${XDG_CONFIG_HOME:-$HOME/.config}/a2a-cli/${BOOK_NAME}"
  [[ -r $file ]] || return
  while read -r name rest || [[ -n $name ]]; do
    [[ -n $rest && $name != '#'* ]] && reply="$reply $name"
  done < "$file"
}

# Adds the candidates of a kind that begin with a text.
__NAME_add() {
  local IFS=$' \\t\\n' kind=$1 current=$2 reply=
  case $kind in
    words\\ *) COMPREPLY+=($(compgen -W "\${kind#words }" -- "$current")) ;;
    agents|refs)
      __NAME_agents
      COMPREPLY+=($(compgen -W "$reply" -- "$current"))
      ;;
  esac
  IFS=$'\\n'
  case $kind in
    files|refs)
      compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -f -- "$current"))
      ;;
    folders)
      compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -d -- "$current"))
      ;;
  esac
}

_NAME() {
  local place= kind= pending= reply= word i count=0 ended=
  local -a typed
  typed=()
  COMPREPLY=()
  # Bash splits words at = and : as well; these are joined again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $word && i -gt 1 && ( $word == [=:]* || \${COMP_WORDS[i-1]} == [=:] ) ]]; then
      typed[\${#typed[@]}-1]+=$word
    else
      typed+=("$word")
    fi
  done
  local last=$((\${#typed[@]} - 1))
  local current=\${typed[last]}
  for ((i = 0; i < last; i++)); do
    word=\${typed[i]}
    if [[ -n $pending ]]; then pending=; continue; fi
    if [[ -n $ended ]]; then count=$((count + 1)); continue; fi
    case $word in
      --) ended=1 ;;
      --*=*) ;;
      -*) __NAME_option "$word"; pending=$kind ;;
      help) ;;
      *) __NAME_descend "$word" || count=$((count + 1)) ;;
    esac
  done
  if [[ -n $pending ]]; then
    __NAME_add "$pending" "$current"
  elif [[ -z $ended && $current == --*=* ]]; then
    __NAME_option "\${current%%=*}"
    __NAME_add "$kind" "\${current#*=}"
    [[ $COMP_WORDBREAKS != *=* ]] && COMPREPLY=("\${COMPREPLY[@]/#/\${current%%=*}=}")
  elif [[ -z $ended && $current == -* ]]; then
    __NAME_options
    COMPREPLY=($(compgen -W "$reply" -- "$current"))
  else
    __NAME_commands
    if [[ -n $reply ]]; then
      COMPREPLY=($(compgen -W "$reply" -- "$current"))
    else
      __NAME_operand
      __NAME_add "$kind" "$current"
    fi
  fi
  # What stands before the last : stays as it is typed.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local kept=\${current%"\${current##*:}"}
    COMPREPLY=("\${COMPREPLY[@]#"$kept"}")
  fi
}

complete -F _NAME NAME
`;

/** Returns the completion script for bash 3.2 and later. It starts no process. */
export function bashScript(tree: Tree): string {
  const { program } = tree;
  return `# Completion of ${program} for bash.

${posixFunctions(tree)}

__${program}_commands() {
  reply=
${commandsByPath(tree, posix, (below) => `reply=${posix.quoted(below.map(({ name }) => name).join(" "))}`)}
}

__${program}_options() {
  reply=
${optionsByPath(tree, posix, (rows) => `reply="$reply ${rows.map(([name]) => name).join(" ")}"`)}
}

${walk.replaceAll("NAME", program)}`;
}
