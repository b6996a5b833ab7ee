import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { orAborted } from "../../../core/async.js";
import { messageIn } from "../../../core/members.js";
import type { PartInput } from "../../../task/message-input.js";
import { isInteractive } from "../../io.js";
import { checkNamesAgent } from "../capability.js";
import type { Context, Run } from "../context.js";
import { Failure, usage } from "../errors.js";
import { filePartOf } from "../parts.js";
import { resumeWords } from "../resume.js";
import { singleLine } from "../text.js";
import { askForm } from "./form.js";
import { plainView } from "./plain-view.js";
import { Screen } from "./screen-view.js";
import { type OnTurn, Talk } from "./talk.js";
import { Terminal } from "./terminal.js";

const commands: Readonly<Record<string, string>> = {
  "/new": "begin a new conversation",
  "/file": "/file PATH: send a file with the next message",
  "/form": "fill in the form that the agent waits for",
  "/cancel": "cancel the task",
  "/save": "/save FILE: write the talk so far to a new file, as Markdown or (.jsonl) JSON lines",
  "/raw": "show the events of the protocol, or hide them again",
  "/task": "show the ids of the conversation",
  "/help": "show this list",
  "/quit": "leave; Ctrl-D does the same",
};

/** `chat`: talks with an agent in a terminal. Without a terminal it sends the text of its argument, as one turn. */
export const run: Run = async (context, [text]) => {
  if (context.out.mode.isJson) throw usage("chat has no JSON output", "send and task subscribe print JSON");
  await talk(context, { name: "chat", text });
};

interface Leading {
  readonly name: string;
  readonly text: string | undefined;
  readonly onTurn?: OnTurn;
  /** True to read turns from stdin, one in each line, without a terminal and a text. */
  readonly readsLines?: boolean;
  readonly beside?: Beside | undefined;
}

/** A server that runs beside a chat in a terminal, and restarts meanwhile. */
export interface Beside {
  /** True while it accepts calls. */
  readonly isReady: boolean;
  /** Waits until it accepts calls. */
  whenReady(): Promise<void>;
  /** Sets the function that shows lines about the server; undefined after the chat. */
  showIn(show: ((line: string) => void) | undefined): void;
}

/** Talks with an agent: in a terminal, or without one. */
export async function talk(
  context: Context,
  { name, text, onTurn, readsLines = false, beside }: Leading,
): Promise<void> {
  const { io, out } = context;
  const hasPerson = isInteractive(io);
  if (!hasPerson && text === undefined && !readsLines) {
    throw usage(`${name} needs a terminal or a text to send`, "send sends a message without a terminal");
  }
  checkNamesAgent(context, name, text);
  context.startBudget();
  const { client } = await context.agent();
  if (!hasPerson) {
    const plain = new Talk(context, client, plainView(out), onTurn);
    for await (const turn of text === undefined ? linesIn(context) : [text]) {
      await plain.say(turn, turn, context.signal);
    }
    return noteResume(context, plain);
  }
  context.endBudget();
  const screen = new Screen(io);
  const chat = new Chat(context, new Talk(context, client, screen, onTurn), screen, beside);
  beside?.showIn((line) => chat.note(line));
  try {
    await chat.run(text, client.card.name);
  } finally {
    beside?.showIn(undefined);
    noteResume(context, chat.talk);
  }
}

/** Yields the lines of stdin that are not empty. The timer of `--timeout` is stopped while it waits for one. */
async function* linesIn(context: Context): AsyncGenerator<string> {
  const { io, signal } = context;
  context.endBudget();
  for await (const line of createInterface({ input: io.stdin as Readable, signal })) {
    if (line.trim() === "") continue;
    context.startBudget();
    yield line;
    context.endBudget();
  }
  // At an abort the lines end without an error.
  signal.throwIfAborted();
}

/** Prints the ids, and the command that continues the conversation. */
function noteResume(context: Context, talk: Talk): void {
  const { contextId, taskId } = talk.ids;
  if (contextId === undefined && taskId === undefined) return;
  const ids = [
    ...(contextId === undefined ? [] : ["--context-id", contextId]),
    ...(taskId === undefined ? [] : ["--task-id", taskId]),
  ];
  context.out.note(`Resume with: ${resumeWords(context, ["chat"], ...ids)}`);
}

/** The loop of a chat in a terminal. */
class Chat {
  readonly talk: Talk;
  readonly #context: Context;
  readonly #terminal: Terminal;
  readonly #screen: Screen;
  readonly #beside: Beside | undefined;
  #files: PartInput[] = [];
  #isOver = false;

  constructor(context: Context, talk: Talk, screen: Screen, beside: Beside | undefined) {
    this.#context = context;
    this.talk = talk;
    this.#screen = screen;
    this.#beside = beside;
    this.#terminal = new Terminal(context.io, Object.keys(commands));
  }

  /** Talks until the person leaves. @param first a message to begin with */
  async run(first: string | undefined, name: string): Promise<void> {
    this.#screen.line(`Talking with ${singleLine(name)}. /help lists the commands.`, "dim");
    if (this.talk.ids.taskId !== undefined) await this.#turn((signal) => this.talk.open(signal));
    if (first !== undefined) await this.#turn((signal) => this.#send(first, signal));
    while (!this.#isOver) {
      const typed = await this.#terminal.ask("> ", this.#context.signal);
      const text = typeof typed === "string" ? "/quit" : typed.text.trim();
      if (text === "/quit") {
        this.#isOver = true;
        return;
      }
      if (text === "" && this.#files.length === 0) continue;
      await this.#guarded(() => this.#take(text));
    }
  }

  /** Shows a line that is not part of the talk, also while the person types. */
  note(line: string): void {
    this.#terminal.above(() => this.#screen.line(singleLine(line), "dim"));
  }

  async #take(text: string): Promise<void> {
    const [, command, rest = ""] = /^(\/[a-z]+)(?:\s+(.*))?$/s.exec(text) ?? [];
    // Two slashes send one.
    if (command === undefined) return this.#turn((signal) => this.#send(text.replace(/^\/\//, "/"), signal));
    switch (command) {
      case "/new":
        this.talk.restart();
        return this.#screen.line("A new conversation.", "dim");
      case "/file":
        this.#files.push(await filePartOf(this.#context, rest.trim()));
        return this.#screen.line(`${singleLine(rest.trim())} is sent with the next message.`, "dim");
      case "/form":
        return this.#form();
      case "/cancel":
        return this.#cancel();
      case "/save":
        if (rest === "") throw usage("/save needs the name of a file");
        await this.talk.record.save(resolve(this.#context.io.cwd, rest.trim()));
        return this.#screen.line(`Saved: ${rest.trim()}`, "dim");
      case "/raw":
        return this.#screen.line(this.talk.toggleRaw() ? "Events are shown." : "Events are hidden.", "dim");
      case "/task":
        return this.#ids();
      case "/help":
        for (const [word, about] of Object.entries(commands)) this.#screen.line(`${word.padEnd(8)} ${about}`);
        return;
      default:
        throw usage(`${command} is not a command`, "/help lists them; // sends a text that begins with /");
    }
  }

  async #cancel(): Promise<void> {
    const told = await this.talk.cancel();
    if (told !== undefined) this.#screen.line(told, "dim");
  }

  #ids(): void {
    const { conversation, taskId } = this.talk;
    this.#screen.line(`Context ID: ${singleLine(conversation.contextId ?? "none")}`);
    this.#screen.line(`Task ID: ${singleLine(taskId ?? "none")}`);
    if (this.talk.state !== TaskState.UNSPECIFIED) this.#screen.line(`State: ${TaskState[this.talk.state]}`);
  }

  async #send(text: string, signal: AbortSignal): Promise<void> {
    const parts: PartInput[] = [...(text === "" ? [] : [{ text }]), ...this.#files];
    await this.talk.say(parts, text, signal);
    this.#files = [];
  }

  /** Asks for the form that the agent waits for, and sends the answer. Nothing is sent if the person leaves it. */
  async #form(): Promise<void> {
    const { form } = this.talk;
    if (form === undefined) return this.#screen.line("The agent waits for no form.", "yellow");
    const ask = async (prompt: string): Promise<string | undefined> => {
      const typed = await this.#terminal.ask(prompt, this.#context.signal, false);
      if (typed === "ended") this.#isOver = true;
      return typeof typed === "string" ? undefined : typed.text;
    };
    const values = await askForm(form, ask, (line, isFault) =>
      this.#screen.line(line, isFault === true ? "red" : undefined),
    );
    if (this.#isOver) return;
    if (values === "left") {
      return this.#screen.line("Nothing is sent. /form asks again, /cancel cancels the task.", "dim");
    }
    await this.#turn((signal) => this.talk.answerForm(values === "declined" ? undefined : values, signal));
  }

  /** Runs a turn: the first Ctrl-C cancels the task, the second one stops waiting. */
  async #turn(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const stop = new AbortController();
    let count = 0;
    let isSent = false;
    const close = this.#terminal.watchKeys(() => {
      count += 1;
      if (count > 1 || !isSent)
        return stop.abort(new Failure("PARLEY_ERR_INTERRUPTED", "Stopped waiting; the task may continue."));
      this.#screen.line("Canceling the task. Ctrl-C again stops waiting.", "yellow");
      this.#cancel().catch((error: unknown) => {
        if (!this.#isOver) this.#told(error);
      });
    });
    try {
      const signal = AbortSignal.any([this.#context.signal, stop.signal]);
      await this.#awaitServer(signal);
      isSent = true;
      await work(signal);
    } catch (error) {
      const told = isSent ? "Stopped waiting; the task may continue." : "Nothing is sent.";
      if (stop.signal.aborted) this.#screen.line(told, "yellow");
      else throw error;
    } finally {
      close();
    }
    if (this.talk.form !== undefined) await this.#form();
  }

  async #awaitServer(signal: AbortSignal): Promise<void> {
    const beside = this.#beside;
    if (beside === undefined || beside.isReady) return;
    this.#screen.line("Waiting for the server. Ctrl-C stops waiting.", "dim");
    await orAborted(beside.whenReady(), signal);
  }

  /** Shows the failure of a turn, after which the talk continues. @throws Failure of the run itself */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#context.signal.aborted) throw error;
      this.#told(error);
    }
  }

  #told(error: unknown): void {
    const isOfFile = error instanceof Error && "code" in error && "syscall" in error;
    const failure = isOfFile ? usage(messageIn(error)) : this.#context.failure(error);
    const { message, hint } = failure;
    this.#screen.line(this.#context.out.redactor.text(singleLine(message)), "red");
    if (hint !== null) this.#screen.line(this.#context.out.redactor.text(singleLine(hint)), "dim");
  }
}
