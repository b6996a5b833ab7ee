import { writeFile } from "node:fs/promises";
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Part, PartSchema, StreamResponseSchema, TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../../client/client.js";
import type { Conversation } from "../../../client/follow/conversation.js";
import { answerOf } from "../../../client/follow/update.js";
import { given } from "../../../core/options.js";
import type { Update } from "../../../task/answer.js";
import type { MessageInput } from "../../../task/message-input.js";
import { isInterrupted, isTerminal } from "../../../task/state.js";
import { stateName } from "../../../task/state-name.js";
import type { Context } from "../context.js";
import { saveFiles } from "../files/save.js";
import { jsonOf } from "../output.js";
import { partText, singleLine, terminalText } from "../text.js";
import { type Form, formIn } from "./form.js";

/** The display of a talk: a terminal or plain text. */
export interface View {
  wait(): void;
  push(text: string): void;
  doing(text: string): void;
  line(text: string, colour?: "dim" | "red" | "yellow"): void;
  finish(): void;
  end(): void;
}

export interface Turn {
  /** True if it begins a conversation. */
  readonly begins: boolean;
  readonly message: MessageInput;
  readonly last: Update | undefined;
  /** Error of a failed turn; undefined otherwise. */
  readonly error: unknown;
  readonly tookMs: number;
}

/** Called after each turn. The next one waits for it. */
export type OnTurn = (turn: Turn) => void | Promise<void>;

/** A talk with an agent: sends messages, shows the answers, and remembers what the agent asks for. */
export class Talk {
  readonly #context: Context;
  readonly #view: View;
  readonly #client: A2AClient;
  #conversation: Conversation;
  #form: Form | undefined;
  #isRaw = false;
  #state: TaskState = TaskState.UNSPECIFIED;
  readonly record: TalkRecord = new TalkRecord();
  /** The last task, which may run. */
  #taskId: string | undefined;
  #artifacts = new Set<string>();
  #isReading = false;
  #begins = true;
  readonly #onTurn: OnTurn;

  constructor(context: Context, client: A2AClient, view: View, onTurn: OnTurn = () => {}) {
    const { taskId, contextId } = context.settings;
    this.#context = context;
    this.#client = client;
    this.#view = view;
    this.#onTurn = onTurn;
    this.#conversation = client.conversation({ taskId, contextId });
    this.#taskId = taskId;
    context.onCut(() => {
      if (this.#isReading) view.doing("connection lost, resuming");
    });
  }

  get conversation(): Conversation {
    return this.#conversation;
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  /** The form that the agent waits for. */
  get form(): Form | undefined {
    return this.#form;
  }

  /** The state of the last task; unspecified after a direct message. */
  get state(): TaskState {
    return this.#state;
  }

  /** Shows the events of the protocol, or hides them again. @returns true if they are shown */
  toggleRaw(): boolean {
    this.#isRaw = !this.#isRaw;
    return this.#isRaw;
  }

  /** Ids that continue the conversation: those of a task that waits or runs, and of the context. */
  get ids(): { readonly contextId: string | undefined; readonly taskId: string | undefined } {
    const { contextId, taskId } = this.#conversation;
    return { contextId, taskId: taskId ?? (isTerminal(this.#state) ? undefined : this.#taskId) };
  }

  restart(): void {
    this.#conversation = this.#client.conversation();
    this.#begins = true;
    this.#form = undefined;
    this.#taskId = undefined;
    this.#state = TaskState.UNSPECIFIED;
  }

  /** Shows the task that the conversation continues, and follows it if it runs. */
  async open(signal: AbortSignal): Promise<void> {
    const { taskId } = this.#conversation;
    if (taskId === undefined) return;
    const last = await this.#read(answerOf(this.#client.follow(taskId, { signal })));
    const state = last?.task?.status?.state ?? TaskState.UNSPECIFIED;
    this.#conversation = this.#client.conversation({
      contextId: last?.task?.contextId,
      taskId: isInterrupted(state) ? taskId : undefined,
    });
  }

  /** Cancels the last task. @returns what to tell; undefined if its end is shown anyway */
  async cancel(): Promise<string | undefined> {
    const id = this.#taskId;
    if (id === undefined) return "The agent has named no task that could be canceled.";
    const isShown = this.#isReading;
    const task = await this.#client.cancelTask({ id }, { signal: this.#context.signal });
    this.#form = undefined;
    this.#state = task.status?.state ?? TaskState.UNSPECIFIED;
    return isShown ? undefined : `Task ${singleLine(id)}: ${stateName(this.#state)}`;
  }

  /** Sends a message, and shows the answer. @param signal stops waiting; the task continues */
  async say(message: MessageInput, shown: string, signal: AbortSignal): Promise<void> {
    this.record.add("user", shown, this.ids);
    this.#form = undefined;
    // An answer goes to the task that waits; otherwise the agent begins one.
    this.#taskId = this.#conversation.taskId;
    const begin = performance.now();
    let last: Update | undefined;
    let error: unknown;
    try {
      last = await this.#read(this.#conversation.stream(message, { signal }));
    } catch (thrown) {
      error = thrown;
      throw thrown;
    } finally {
      await this.#onTurn({ begins: this.#begins, message, last, error, tookMs: Math.round(performance.now() - begin) });
      this.#begins = false;
    }
  }

  /** Shows an answer. @returns its last update */
  async #read(updates: AsyncGenerator<Update, void, undefined>): Promise<Update | undefined> {
    this.#state = TaskState.UNSPECIFIED;
    this.#artifacts = new Set();
    this.#isReading = true;
    this.#view.wait();
    let last: Update | undefined;
    try {
      for await (const update of updates) {
        last = update;
        this.#show(update);
      }
    } finally {
      this.#isReading = false;
      this.#view.end();
    }
    const answer = last?.task ?? last?.message;
    if (answer !== undefined) await saveFiles(this.#context, answer as never);
    this.#showState(last);
    return last;
  }

  /** Answers the form that waits. @param values undefined to decline */
  async answerForm(values: JsonObject | undefined, signal: AbortSignal): Promise<void> {
    const id = this.#form?.id;
    const data: JsonValue = values ?? { type: "form", ...given({ id }), declined: true };
    const part = { data, ...(id !== undefined && { metadata: { form: id } }) };
    await this.say([part], values === undefined ? "(declined)" : JSON.stringify(values), signal);
  }

  #show(update: Update): void {
    this.#context.touch();
    const { kind, task, message, artifact, text, replaced, data, files, event } = update;
    if (task !== undefined) {
      this.#context.noteTask(task.id, task.contextId);
      this.#taskId = task.id;
    }
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
    for (const part of filePartsOf(files)) {
      this.#view.line(partText(part).trimEnd(), "dim");
      this.#note(`\n${partText(part)}`);
    }
  }

  #text(text: string): void {
    if (text === "") return;
    this.#view.push(text);
    this.#note(text);
  }

  #note(text: string): void {
    this.record.add("agent", text, this.ids);
  }

  /** Shows the state of the task if it needs its client or failed. */
  #showState(last: Update | undefined): void {
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

/** Maximum number of characters of a talk that are kept. */
const MAX_SAVED = 64 * 1024 * 1024;

/** Consecutive texts of one side. */
interface Entry {
  readonly from: "user" | "agent";
  text: string;
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
}

class TalkRecord {
  readonly #entries: Entry[] = [];
  #size = 0;

  /** Adds a text. The agent's texts in a row are one entry, with the ids of the first. */
  add(from: Entry["from"], text: string, ids: Pick<Entry, "contextId" | "taskId">): void {
    if (this.#size > MAX_SAVED) return;
    this.#size += text.length;
    const last = this.#entries.at(-1);
    if (from === "agent" && last?.from === "agent") last.text += text;
    else this.#entries.push({ from, text, ...ids });
  }

  /** Writes the talk to a new file: JSON lines if its name ends with `.jsonl`, otherwise Markdown. */
  async save(path: string): Promise<void> {
    const names = { user: "You", agent: "Agent" };
    const lines = /\.jsonl$/i.test(path)
      ? this.#entries.map((entry) => `${JSON.stringify(entry)}\n`)
      : this.#entries.map(({ from, text }) => `**${names[from]}:** ${text.trimEnd()}\n\n`);
    await writeFile(path, lines.join(""), { flag: "wx" });
  }
}
