import type { Run } from "../context.js";
import { bashScript } from "./bash.js";
import { fishScript } from "./fish.js";
import { type Tree, treeOf } from "./tree.js";
import { zshScript } from "./zsh.js";

const scripts: Readonly<Record<string, (tree: Tree) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `completion`: prints the script for a shell, whatever the form of the output. It runs without this program. */
export const run: Run = async ({ out, program }, [shell = ""]) => {
  out.text(scripts[shell]?.(treeOf(program)) ?? "");
};
