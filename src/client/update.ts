import type { Artifact, Message, StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** One step of a stream: the event, and the task after it. */
export interface Update {
  /**
   * `task`: the first sight of the task; `status` and `artifact`: an event; `message`: the direct answer of an agent that made no
   * task; `snapshot`: the connection was cut, the server cannot say what was missed, and the task was read anew.
   */
  readonly kind: "task" | "status" | "artifact" | "message" | "snapshot";
  /** The folded task, history and artifacts included. It goes on changing with the next update: copy what is kept. Undefined with `message`. */
  readonly task: Task | undefined;
  /** With `message`, and with a status that has one. */
  readonly message: Message | undefined;
  /** With `artifact`: the artifact as it stands. */
  readonly artifact: Artifact | undefined;
  /** The text that this update adds to artifacts or says in a message; empty when none. */
  readonly text: string;
  /** What was received. Undefined with a `snapshot` that was put together. */
  readonly event: StreamResponse | undefined;
  /** The task's generation behind this update, where the server tells it (docs/extensions/resume.md). */
  readonly generation: number | undefined;
}
