import type { JsonValue } from "@bufbuild/protobuf";
import type { StreamResponse, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { PlainFile, PlainPart, ReadableArtifact, ReadableMessage, ReadableTask } from "./plain.js";

/** Answer of an agent: a task or a message. */
export interface Answer {
  readonly task: ReadableTask | undefined;
  readonly message: ReadableMessage | undefined;
  /** Text of the message, or of the task's artifacts, or else of its status. */
  readonly text: string;
  /** Parts of the message, or of the task's artifacts, or else of its status. */
  readonly parts: readonly PlainPart[];
  /** Data parts of the message, or of the task's artifacts, or else of its status. */
  readonly data: readonly JsonValue[];
  /** Files of the message, or of the task's artifacts, or else of its status. */
  readonly files: readonly PlainFile[];
  /** State of the task: terminal, or waiting for its client, unless the send did not wait. */
  readonly state: TaskState | undefined;
  readonly taskId: string | undefined;
  readonly contextId: string;
}

/** One step of a stream: the event, and the task after it. */
export interface Update {
  /**
   * `task`: the task when it is first seen; `status` and `artifact`: an event; `message`: the direct reply of an agent
   * without a task; `snapshot`: the task read again after a lost connection whose events the server cannot resend.
   */
  readonly kind: "task" | "status" | "artifact" | "message" | "snapshot";
  /**
   * The folded task, with history and artifacts. The next update modifies it: copy what you keep. Undefined with
   * `message`.
   */
  readonly task: ReadableTask | undefined;
  /** Set with `message`, and with a status that has one. */
  readonly message: ReadableMessage | undefined;
  /** Set with `artifact`: the whole artifact so far. */
  readonly artifact: ReadableArtifact | undefined;
  /**
   * Text that this update adds to artifacts or says in a message; may be empty. The first `task` has the task's text so
   * far: the agent's messages, each once, then its artifacts. After a message to an existing task that has not ended, it
   * has only the text that is new to the conversation, and none without a conversation. If an agent replaces an
   * artifact, as after a restart, `text` has only the part beyond the text already given for that artifact, as long as
   * the new text agrees with it.
   */
  readonly text: string;
  /**
   * True if text already given for an artifact is void, because the agent replaced it with a different or a shorter
   * text. `text` then contains the whole new text so far: that of `artifact`, or for other kinds that of each replaced
   * artifact of `task`. Later updates continue it.
   */
  readonly replaced: boolean;
  /** The message's parts; without a message `text` as one part, then `data` and `files`. */
  readonly parts: readonly PlainPart[];
  /**
   * Data parts that this update adds to artifacts or has in a message. Of an artifact that the agent replaces, all that
   * go beyond the known ones; all of them if it does not begin with those.
   */
  readonly data: readonly JsonValue[];
  /** Files that this update adds; see `data`. */
  readonly files: readonly PlainFile[];
  /** The received event. Undefined with a `snapshot` that was read. */
  readonly event: StreamResponse | undefined;
  /** The task's generation after this update, if the server sends it (docs/extensions/resume.md). */
  readonly generation: number | undefined;
}
