import { type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { isTerminal } from "../../task/state.js";
import type { Io } from "../io.js";
import type { Scope } from "./scope.js";

/** Flags that name the agent. A command printed for the user repeats them, and never a credential. */
const repeated = ["agent-card", "endpoint", "transport", "tenant", "a2a-version", "config", "cert", "cert-key", "ca"];

/** Returns a command for the same agent, for pasting into a shell. */
export function resumeWords(
  { io, given }: Pick<Scope, "io" | "given">,
  words: readonly string[],
  ...rest: readonly string[]
): string {
  const flags = given.flatMap(({ name, value }) => (repeated.includes(name) ? [`--${name}`, String(value)] : []));
  return commandOf(io, [...words, ...flags, ...rest]);
}

/** Returns a command for pasting into a shell. */
export function commandOf({ program }: Pick<Io, "program">, words: readonly string[]): string {
  return [program, ...words].map(quoted).join(" ");
}

/** Returns the command that logs in at the agent of this one. */
export function loginCommand(context: Pick<Scope, "io" | "given">, ...rest: readonly string[]): string {
  return resumeWords(context, ["auth", "login"], ...rest);
}

/** Returns the hint for a call without credentials. */
export function missingHint(context: Pick<Scope, "io" | "given">): string {
  return `log in (${loginCommand(context)}), or set A2ACLI_BEARER or A2ACLI_API_KEY (--bearer, --api-key)`;
}

/** Returns the command that continues a task; undefined for a finished one. */
export function resumeCommand(context: Pick<Scope, "io" | "given">, task: Task): string | undefined {
  const state = task.status?.state ?? TaskState.UNSPECIFIED;
  if (isTerminal(state)) return undefined;
  if (state === TaskState.INPUT_REQUIRED) return `${resumeWords(context, ["send"], "--task-id", task.id)} "<reply>"`;
  return resumeWords(context, ["task", "get"], task.id, "--wait");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
