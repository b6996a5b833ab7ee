import type { Artifact, Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Update } from "../../task/answer.js";
import { textOf } from "../../task/plain.js";
import { isInterrupted, isTerminal } from "../../task/state.js";

/** Length of each artifact's text before a turn, in characters, by artifact id. */
export type TextBefore = Readonly<Record<string, number>>;

/** Returns the current text lengths of a task's artifacts, to find the text that a further turn adds. */
export function textBefore(task: Task | undefined): TextBefore {
  return Object.fromEntries((task?.artifacts ?? []).map((each) => [each.artifactId, textOf(each).length]));
}

/** Accumulates an agent's text in one turn. The cost of a chunk depends only on its own length. */
export class TurnText {
  #artifacts = new Map<string, string>();
  #messageText = "";
  #progress = "";
  readonly #before: Record<string, number>;

  constructor(before: TextBefore) {
    this.#before = { ...before };
  }

  /** The text of the artifacts, and the message that ended the turn. */
  get text(): string {
    let text = "";
    for (const each of [...this.#artifacts.values(), this.#messageText]) {
      if (each !== "") text = text === "" ? each : `${text}\n${each}`;
    }
    return text;
  }

  /** The agent's progress text. */
  get progress(): string {
    return this.#progress;
  }

  take({ kind, text, replaced, task, message, artifact }: Update): void {
    if (kind === "message") this.#messageText = text;
    if (message !== undefined && kind === "message") return;
    if (task === undefined) return;
    if (kind === "artifact" && artifact !== undefined) {
      const { artifactId } = artifact;
      const known = this.#artifacts.get(artifactId);
      const isMore = known !== undefined && !replaced;
      // All of another text belongs to this turn.
      if (replaced) delete this.#before[artifactId];
      this.#artifacts.set(artifactId, isMore ? known + text : this.#since(artifact));
      return;
    }
    if (kind !== "status" || replaced) {
      this.#artifacts = new Map(
        task.artifacts.map((each) => {
          const [known = "", whole] = [this.#artifacts.get(each.artifactId), this.#since(each)];
          // A restarted agent may repeat the shown text.
          return [each.artifactId, !replaced && known.startsWith(whole) ? known : whole];
        }),
      );
    }
    // After a message to an existing task, its question is sent once more, although it has now been answered.
    if (kind !== "task" || text !== "") this.#status(task);
  }

  #status({ status }: Task): void {
    const statusText = textOf(status?.message);
    const state = status?.state ?? 0;
    const isOver = isTerminal(state) || isInterrupted(state);
    this.#messageText = isOver ? statusText : "";
    this.#progress = isOver ? "" : statusText;
  }

  #since(artifact: Artifact): string {
    return textOf(artifact).slice(this.#before[artifact.artifactId] ?? 0);
  }
}
