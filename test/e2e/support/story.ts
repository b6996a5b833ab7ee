import type { JsonObject } from "@bufbuild/protobuf";
import type { CallOptions, Driver, OpenStream } from "../../support/driver.js";

/** The extension for exact resume (docs/extensions/resume.md). */
const resume = "urn:parley:ext:resume:v1";

/** Options that request generations in the metadata, with further headers. */
export function resuming(more: Readonly<Record<string, string>> = {}): CallOptions {
  return { headers: { "A2A-Version": "1.0", "A2A-Extensions": resume, ...more } };
}

/** The generation that a task or an event carries. */
export function generationIn(value: JsonObject): number {
  const { metadata } = value as { metadata?: Record<string, { generation?: number }> };
  const generation = metadata?.[resume]?.generation;
  if (generation === undefined) throw new Error(`There is no generation in ${JSON.stringify(value)}.`);
  return generation;
}

/** A request that sends a text. */
export function say(text: string, more: { taskId?: string; contextId?: string } = {}): JsonObject {
  return { message: { messageId: `${text} ${more.contextId ?? ""}`, role: "ROLE_USER", parts: [{ text }], ...more } };
}

/** A client's record of one task over any number of streams. */
export class Story {
  taskId = "";
  /** The client's current generation. */
  generation = 0;
  /** State of the task at that generation, as named on the wire. */
  state = "";
  /** Events by their generation. */
  readonly events: Map<number, JsonObject> = new Map();
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  /** Records the next message of a stream. Throws if another one was expected. */
  see(message: JsonObject): void {
    const { task } = message as { task?: JsonObject };
    if (task === undefined) this.#event(message);
    else this.#begin(task);
  }

  /** Resolves when the story has this many events. */
  has(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ count, resolve });
      this.#tell();
    });
  }

  /** Reads a stream until it ends or breaks, or until `enough` returns true. Returns how it ended. */
  async follow(stream: OpenStream, enough: (story: Story) => boolean = () => false): Promise<Ending> {
    for (;;) {
      const item = await nextOf(stream);
      if (!("message" in item)) return item;
      this.see(item.message);
      if (!enough(this)) continue;
      stream.hangUp();
      return { end: true };
    }
  }

  #begin(task: JsonObject): void {
    const generation = generationIn(task);
    if (this.taskId !== "" && (this.taskId !== task.id || this.generation !== generation)) {
      throw new Error(`The stream goes on at generation ${generation} instead of ${this.generation}.`);
    }
    // A resumed stream begins with the current state instead of the state at its position.
    if (this.taskId === "") this.state = stateOf(task);
    this.taskId = String(task.id);
    this.generation = generation;
  }

  #event(message: JsonObject): void {
    const [event] = Object.values(message) as JsonObject[];
    const generation = generationIn(event ?? {});
    if (generation !== this.generation + 1) {
      throw new Error(`Generation ${generation} comes after ${this.generation}: ${JSON.stringify(event)}`);
    }
    if (event?.taskId !== this.taskId) throw new Error(`An event of another task: ${JSON.stringify(event)}`);
    this.generation = generation;
    if (message.statusUpdate !== undefined) this.state = stateOf(event);
    this.events.set(generation, message);
    this.#tell();
  }

  #tell(): void {
    for (const { count, resolve } of this.#waiting) if (this.events.size >= count) resolve();
  }
}

/** The end of a stream: regular, by an error of the server, or by a broken connection. */
export type Ending = { readonly end: true } | { readonly status: string } | { readonly broken: unknown };

async function nextOf(stream: OpenStream): Promise<{ readonly message: JsonObject } | Ending> {
  try {
    const item = await stream.next();
    if (!("error" in item)) return item;
    const { status, reason, native } = item.error;
    // JSON-RPC carries no status. Its reason has the same name for the relevant errors.
    return { status: status ?? reason ?? `${native}` };
  } catch (broken) {
    return { broken };
  }
}

/** The current task, with its generation in the metadata. */
export async function taskOf(
  driver: Driver,
  id: string,
  more: Readonly<Record<string, string>> = {},
): Promise<JsonObject> {
  const { message, error } = await driver.call("GetTask", { id }, resuming(more));
  if (message === undefined) throw new Error(`The task ${id} is not there: ${JSON.stringify(error)}`);
  return message;
}

/** The state of a task or a status event, as named on the wire. */
export function stateOf(task: JsonObject): string {
  return String((task.status as JsonObject | undefined)?.state);
}

/** True for a final state, as named on the wire. */
export function isFinal(state: string): boolean {
  return /COMPLETED|FAILED|CANCELED|REJECTED/.test(state);
}

/** The text of a task's status message. */
export function statusText(task: JsonObject): string {
  const { status } = task as { status?: { message?: { parts?: { text?: string }[] } } };
  return status?.message?.parts?.[0]?.text ?? "";
}

/** Long-polls a task until it ends or waits for its client. Returns the task. */
export async function settled(driver: Driver, id: string): Promise<JsonObject> {
  for (let task = await taskOf(driver, id); ; ) {
    if (!/WORKING|SUBMITTED/.test(stateOf(task))) return task;
    task = await taskOf(driver, id, { "Parley-After-Generation": `${generationIn(task)}`, "Parley-Wait": "5" });
  }
}

/** All events of a task in order. A subscription after generation 1 receives every event. */
export async function logOf(driver: Driver, id: string): Promise<Story> {
  const task = await taskOf(driver, id);
  const story = new Story();
  const stream = driver.stream("SubscribeToTask", { id }, resuming({ "Parley-After-Generation": "1" }));
  const ended = story.follow(stream);
  await Promise.race([ended, story.has(generationIn(task) - 1)]);
  // The stream of an ended task ends, but that of a task that waits for its client does not.
  if (!isFinal(stateOf(task))) stream.hangUp();
  await ended;
  return story;
}
