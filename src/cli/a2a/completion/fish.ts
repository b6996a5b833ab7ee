import { BOOK_NAME } from "../agents/names.js";
import { commandsByPath, descents, fish, kindsByOperand, kindsByOption, optionsByPath } from "./cases.js";
import type { Tree } from "./tree.js";

/** Returns a command that prints candidates with their descriptions. */
const printed = (rows: readonly (readonly [name: string, about: string])[]): string =>
  `printf '%s\\t%s\\n' ${rows.map(([name, about]) => `${fish.quoted(name)} ${fish.quoted(about)}`).join(" \\\n  ")}`;

/** Finds the command that the words name, and the candidates for the next word. `NAME` stands for the program. */
const walk = `function __NAME_agents
  set -l folder $HOME/.config
  set -q XDG_CONFIG_HOME; and set folder $XDG_CONFIG_HOME
  set -l file $folder/a2a-cli/${BOOK_NAME}
  test -r $file; or return
  while read -l name rest
    test -n "$rest"; and not string match -q '#*' -- $name; and printf '%s\\t%s\\n' $name $rest
  end < $file
end

# Prints the candidates of a kind that may follow a text.
function __NAME_values --argument-names kind current
  switch $kind
    case 'words *'
      string split ' ' -- (string replace 'words ' '' -- $kind)
    case agents refs
      __NAME_agents
  end
  switch $kind
    case files refs
      __fish_complete_path $current
    case folders
      __fish_complete_directories $current ''
  end
end

function __NAME_complete
  set -l place ''
  set -l kind
  set -l before
  set -l pending
  set -l ended
  set -l count 0
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  for each in $typed[2..-1]
    if test -n "$pending"
      set pending
    else if test -n "$ended"
      set count (math $count + 1)
    else
      switch $each
        case --
          set ended 1
        case '--*=*' help
        case '-*'
          __NAME_option $each
          set pending $kind
        case '*'
          __NAME_descend $each; or set count (math $count + 1)
      end
    end
  end
  if test -n "$pending"
    __NAME_values $pending "$current"
  else if test -z "$ended"; and string match -q -- '--*=*' "$current"
    set -l parts (string split -m 1 = -- $current)
    __NAME_option $parts[1]
    __NAME_values "$kind" "$parts[2]" | string replace -r -- '^' "$parts[1]="
  else if test -z "$ended"; and string match -q -- '-*' "$current"
    __NAME_options "$place"
  else
    set -l found (__NAME_commands "$place")
    if test (count $found) -gt 0
      printf '%s\\n' $found
    else
      __NAME_operand
      __NAME_values "$kind" "$current"
    end
  end
end

complete -c NAME -f -a '(__NAME_complete)'
`;

/** Returns the completion script for fish. It starts no process. */
export function fishScript(tree: Tree): string {
  const { program } = tree;
  return `# Completion of ${program} for fish.

# Sets kind to the candidates for the value of an option; empty if it takes none.
function __${program}_option --no-scope-shadowing --argument-names option
  set kind
${kindsByOption(tree, fish)}
end

function __${program}_operand --no-scope-shadowing
  set kind
${kindsByOperand(tree, fish)}
end

function __${program}_descend --no-scope-shadowing --argument-names word
  set before $place
${descents(tree, fish)}
  test "$place" != "$before"
end

function __${program}_commands --argument-names place
${commandsByPath(tree, fish, (below) => printed(below.map(({ name, about }) => [name, about])))}
end

function __${program}_options --argument-names place
${optionsByPath(tree, fish, printed)}
end

${walk.replaceAll("NAME", program)}`;
}
