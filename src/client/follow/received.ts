import type { JsonValue } from "@bufbuild/protobuf";
import type { Message, Part, StreamResponse, Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Answer, Update } from "../../task/answer.js";
import {
  dataOf,
  filesOf,
  type PlainFile,
  type PlainPart,
  partsOf,
  type ReadableArtifact,
  type ReadableMessage,
  type ReadableTask,
  readable,
  readableTask,
  textOf,
} from "../../task/plain.js";

/** An answer as a client received it. */
export class ReceivedAnswer implements Answer {
  readonly task: ReadableTask | undefined;
  readonly message: ReadableMessage | undefined;
  readonly text: string;
  readonly state: TaskState | undefined;
  readonly taskId: string | undefined;
  readonly contextId: string;

  constructor(received: Task | Message) {
    const task = "artifacts" in received ? readableTask(received) : undefined;
    this.task = task;
    this.message = "parts" in received ? readable(received) : undefined;
    this.text = textOf(received);
    this.state = task?.status?.state;
    this.taskId = task?.id;
    this.contextId = received.contextId;
  }

  get parts(): PlainPart[] {
    return partsOf(this.task ?? this.message);
  }

  get data(): JsonValue[] {
    return dataOf(this.task ?? this.message);
  }

  get files(): PlainFile[] {
    return filesOf(this.task ?? this.message);
  }
}

/** The fields of an update. */
export type UpdateFields = Omit<Update, "parts" | "data" | "files">;

/** An update as a client received it. */
export class ReceivedUpdate implements Update {
  readonly kind: Update["kind"];
  readonly task: ReadableTask | undefined;
  readonly message: ReadableMessage | undefined;
  readonly artifact: ReadableArtifact | undefined;
  readonly text: string;
  readonly replaced: boolean;
  readonly event: StreamResponse | undefined;
  readonly generation: number | undefined;
  readonly #added: readonly Part[];

  /** @param added the data and files that the update adds */
  constructor(fields: UpdateFields, added: readonly Part[]) {
    this.kind = fields.kind;
    this.task = fields.task;
    this.message = fields.message;
    this.artifact = fields.artifact;
    this.text = fields.text;
    this.replaced = fields.replaced;
    this.event = fields.event;
    this.generation = fields.generation;
    this.#added = added;
  }

  get parts(): PlainPart[] {
    if (this.message !== undefined && this.text === textOf(this.message)) return partsOf(this.message);
    return [...(this.text === "" ? [] : [{ text: this.text }]), ...partsOf({ parts: this.#added })];
  }

  get data(): JsonValue[] {
    return dataOf({ parts: this.#added });
  }

  get files(): PlainFile[] {
    return filesOf({ parts: this.#added });
  }

  /** Returns the same update of an existing task whose content does not belong to the answer. */
  withoutContent(): ReceivedUpdate {
    return new ReceivedUpdate({ ...this, text: "" }, []);
  }

  /** Returns the same update at another generation. */
  at(generation: number | undefined): ReceivedUpdate {
    return new ReceivedUpdate({ ...this, generation }, this.#added);
  }
}
