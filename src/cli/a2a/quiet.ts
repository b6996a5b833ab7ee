import type { Update } from "../../task/answer.js";
import { dataOf, textOf, type WithContent } from "../../task/plain.js";
import { plainView } from "./chat/plain-view.js";
import type { View } from "./chat/talk.js";
import type { Context } from "./context.js";
import { usage } from "./errors.js";
import { terminalText } from "./text.js";

/** True if the answer alone is wanted, for a pipe. @throws Failure with JSON output */
export function isQuiet(context: Context): boolean {
  if (context.own("quiet").length === 0) return false;
  if (context.out.mode.isJson) throw usage("--quiet prints text: leave out --output, or --quiet");
  return true;
}

/** Prints the text of an answer; without text, each data part as a line of JSON. */
export function printAnswer({ out }: Context, answer: WithContent): void {
  const text = textOf(answer);
  if (text !== "") return out.text(ended(terminalText(text)));
  for (const data of dataOf(answer)) out.json(data, true);
}

const ended = (text: string): string => (text.endsWith("\n") ? text : `${text}\n`);

/** Prints the text of an answer as it comes: the same as `printAnswer` prints at its end. */
export class AnswerText {
  readonly #context: Context;
  readonly #view: View;
  #artifactId: string | undefined;
  #isEmpty = true;

  constructor(context: Context) {
    this.#context = context;
    this.#view = plainView(context.out);
  }

  take({ kind, task, artifact, text, replaced }: Update): void {
    // The text of a status is not part of the answer unless nothing else is.
    if (kind === "status") return;
    if (replaced || (artifact !== undefined && artifact.artifactId !== this.#artifactId)) this.#view.finish();
    this.#artifactId = artifact?.artifactId ?? task?.artifacts.at(-1)?.artifactId;
    // The text of a first task has its messages too.
    this.#print(
      kind === "task" && task !== undefined ? textOf({ artifacts: task.artifacts, status: undefined }) : text,
    );
  }

  /** Ends the output. @param answer the whole; undefined if it failed */
  end(answer: WithContent): void {
    this.#view.finish();
    if (this.#isEmpty && answer !== undefined) printAnswer(this.#context, answer);
  }

  #print(text: string): void {
    if (text === "") return;
    this.#isEmpty = false;
    this.#view.push(terminalText(text));
  }
}
