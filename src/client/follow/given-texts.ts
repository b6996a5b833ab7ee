import type { Artifact, Task, TaskArtifactUpdateEvent } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Update } from "../../task/answer.js";
import { textOf } from "../../task/plain.js";
import { isInterrupted, isTerminal } from "../../task/state.js";

/** The text of an update. */
export type Gained = Pick<Update, "text" | "replaced">;

/** The given text of an artifact, and the length of its beginning that the artifact's new text has repeated so far. */
interface GivenText {
  readonly text: string;
  readonly repeated: number;
}

/**
 * Finds the text that updates add to artifacts. An agent that restarts replaces an artifact with a text that first
 * repeats the given one. The cost of a chunk depends only on its own length, that of a replacement also once on the
 * replaced text.
 */
export class GivenTexts {
  /** Artifacts whose new text is so far a beginning of the given one, by artifact id. */
  readonly #repeating = new Map<string, GivenText>();
  /** Length of their given texts together, at most `#maxLength`: of further ones the new text is not compared. */
  #length = 0;
  readonly #maxLength: number;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /**
   * Returns the text of an artifact or chunk that goes beyond the given text; undefined if the artifact's text differs
   * from that, will stay shorter, or cannot be compared.
   * @param known the artifact before it
   */
  added(
    known: Artifact | undefined,
    artifact: Artifact,
    { append, lastChunk }: Partial<TaskArtifactUpdateEvent> = {},
  ): string | undefined {
    const { artifactId } = artifact;
    const text = textOf(artifact);
    const repeating = this.#repeating.get(artifactId);
    if (repeating === undefined && (append || known === undefined)) return text;
    const given = repeating?.text ?? (known ? textOf(known) : "");
    if (this.#repeating.delete(artifactId)) this.#length -= given.length;
    const repeated = (append && repeating?.repeated) || 0;
    const rest = given.slice(repeated);
    if (text.startsWith(rest)) return text.slice(rest.length);
    if (lastChunk || !rest.startsWith(text) || this.#length + given.length > this.#maxLength) return undefined;
    this.#length += given.length;
    this.#repeating.set(artifactId, { text: given, repeated: repeated + text.length });
    return "";
  }

  /**
   * Starts the texts of the repeating artifacts over if they stay shorter than the given texts: at the end of a turn,
   * and in an update of the whole task that replaces texts.
   */
  settled(task: Task, { text, replaced }: Gained): Gained {
    const state = task.status?.state ?? 0;
    const isDue = replaced || isTerminal(state) || isInterrupted(state);
    if (!isDue || this.#repeating.size === 0) return { text, replaced };
    let whole = text;
    for (const artifact of task.artifacts) if (this.#repeating.has(artifact.artifactId)) whole += textOf(artifact);
    this.#repeating.clear();
    this.#length = 0;
    return { text: whole, replaced: true };
  }
}
