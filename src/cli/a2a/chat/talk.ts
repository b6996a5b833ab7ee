import { writeFile } from "node:fs/promises";
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Part, PartSchema, StreamResponseSchema, TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../../client/client.js";
import type { Conversation } from "../../../client/follow/conversation.js";
import type { Update } from "../../../task/answer.js";
import type { MessageInput } from "../../../task/message-input.js";
import { isInterrupted, isTerminal } from "../../../task/state.js";
import type { Context } from "../context.js";
import { saveFiles } from "../files/save.js";
import { jsonOf } from "../output.js";
import { partText, singleLine, stateName, terminalText } from "../text.js";
import { type Form, formIn } from "./form.js";

/** Where a talk is shown: a terminal or plain text. */
export interface View {
  wait(): void;
  push(text: string): void;
  doing(text: string): void;
  line(text: string, colour?: "dim" | "red" | "yellow"): void;
  finish(): void;
  end(): void;
}

/** Most characters of a talk that `/save` keeps. */
const MAX_SAVED = 64 * 1024 * 1024;

/** A talk with an agent: sends messages, shows the answers, and remembers what the agent asks for. */
export class Talk {
  readonly #context: Context;
  readonly #view: View;
  readonly #client: A2AClient;
  #conversation: Conversation;
  #form: Form | undefined;
  #isRaw = false;
  #state: TaskState = TaskState.UNSPECIFIED;
  #record = "";
  #artifacts = new Set<string>();

  constructor(context: Context, client: A2AClient, view: View) {
    const { taskId, contextId } = context.settings;
    this.#context = context;
    this.#client = client;
    this.#view = view;
    this.#conversation = client.conversation({ taskId, contextId });
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  /** The form that the agent waits for. */
  get form(): Form | undefined {
    return this.#form;
  }

  /** The state of the last task; unspecified after a direct message. */
  get state(): TaskState {
    return this.#state;
  }

  get isRaw(): boolean {
    return this.#isRaw;
  }

  set isRaw(isRaw: boolean) {
    this.#isRaw = isRaw;
  }

  /** Begins a new conversation. */
  restart(): void {
    this.#conversation = this.#client.conversation();
    this.#form = undefined;
  }

  /** Cancels the task of the last answer. @returns what to tell */
  async cancel(): Promise<string> {
    const id = this.#conversation.task?.id ?? this.#conversation.taskId;
    if (id === undefined) return "There is no task to cancel.";
    const task = await this.#client.cancelTask({ id }, { signal: this.#context.signal });
    this.#form = undefined;
    return `Task ${singleLine(id)}: ${stateName(task.status?.state)}`;
  }

  /** Sends a message, and shows the answer. @param signal stops waiting; the task continues */
  async say(message: MessageInput, shown: string, signal: AbortSignal): Promise<void> {
    this.#note(`**You:** ${shown}\n\n**Agent:** `);
    this.#form = undefined;
    this.#state = TaskState.UNSPECIFIED;
    this.#artifacts = new Set();
    this.#view.wait();
    let last: Update | undefined;
    try {
      for await (const update of this.#conversation.stream(message, { signal })) {
        last = update;
        this.#show(update);
      }
    } finally {
      this.#view.end();
      this.#note("\n\n");
    }
    const answer = last?.task ?? last?.message;
    if (answer !== undefined) await saveFiles(this.#context, answer as never);
    this.#stands(last);
  }

  /** Answers the form that waits. @param values undefined to decline */
  async answerForm(values: JsonObject | undefined, signal: AbortSignal): Promise<void> {
    const id = this.#form?.id;
    const data: JsonValue = values ?? { type: "form", ...(id !== undefined && { id }), declined: true };
    const part = { data, ...(id !== undefined && { metadata: { form: id } }) };
    await this.say([part], values === undefined ? "(declined)" : JSON.stringify(values), signal);
  }

  /** Writes the talk so far to a file, as Markdown. */
  async save(path: string): Promise<void> {
    await writeFile(path, this.#record, { flag: "wx" });
  }

  #show(update: Update): void {
    this.#context.touch();
    const { kind, task, message, artifact, text, replaced, data, files, event } = update;
    if (task !== undefined) this.#context.noteTask(task.id, task.contextId);
    if (this.#isRaw && event !== undefined) {
      this.#view.line(terminalText(JSON.stringify(jsonOf(StreamResponseSchema, event))), "dim");
    }
    const state = task?.status?.state ?? TaskState.UNSPECIFIED;
    const isProgress = kind === "status" && !isTerminal(state) && !isInterrupted(state);
    if (isProgress) return this.#view.doing(singleLine(text));
    if (replaced) this.#view.line("(the agent begins its answer again)", "dim");
    if (artifact !== undefined && !this.#artifacts.has(artifact.artifactId)) {
      if (this.#artifacts.size > 0) this.#view.finish();
      this.#artifacts.add(artifact.artifactId);
    }
    // A message is not part of the artifact before it.
    if (message !== undefined && text !== "" && this.#artifacts.size > 0) this.#view.finish();
    this.#text(terminalText(text));
    if (message !== undefined && text !== "") this.#text("\n\n");
    for (const each of data)
      if (formIn([each]) === undefined)
        this.#text(`\n\`\`\`json\n${terminalText(JSON.stringify(each, null, 2))}\n\`\`\`\n\n`);
    this.#form = formIn(data) ?? this.#form;
    for (const part of filePartsOf(files)) this.#view.line(partText(part).trimEnd(), "dim");
  }

  #text(text: string): void {
    if (text === "") return;
    this.#view.push(text);
    this.#note(text);
  }

  #note(text: string): void {
    if (this.#record.length < MAX_SAVED) this.#record += text;
  }

  /** Says how the task stands, if it needs its client or failed. */
  #stands(last: Update | undefined): void {
    if (last?.task === undefined) return;
    this.#state = last.task.status?.state ?? TaskState.UNSPECIFIED;
    if (this.#state === TaskState.AUTH_REQUIRED) {
      this.#view.line(
        "The agent waits for an authorization. Give it as the agent says, then send any message.",
        "yellow",
      );
    } else if (isTerminal(this.#state) && this.#state !== TaskState.COMPLETED) {
      this.#view.line(`Task ${singleLine(last.task.id)}: ${stateName(this.#state)}`, "yellow");
    }
  }
}

function filePartsOf(files: Update["files"]): Part[] {
  return files.map(({ bytes, url, name = "", mediaType = "" }) =>
    create(PartSchema, {
      filename: name,
      mediaType,
      content: bytes === undefined ? { case: "url", value: url ?? "" } : { case: "raw", value: bytes },
    }),
  );
}
