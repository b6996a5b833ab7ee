import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AcceptRequest, Agent, AgentCardInput, Turn } from "../../src/agent/agent.js";
import { AgentError } from "../../src/agent/errors.js";
import {
  type AgentEvent,
  artifact,
  authRequired,
  canceled,
  completed,
  failed,
  inputRequired,
  metadata,
  rejected,
  reply,
  working,
} from "../../src/agent/event.js";
import { A2AError, invalid } from "../../src/core/error.js";
import { Gates } from "../support/gates.js";

/** Gates at which agents wait. Cases name them after their own `{run}`. */
export const gates: Gates = new Gates();

/** Events that an agent yields for a command. `rest` is the message without the command's word. */
type Command = (rest: string, turn: Turn) => AsyncIterable<AgentEvent> | Iterable<AgentEvent>;

/** Commands that leave a result in the task. */
const results: Record<string, Command> = {
  *echo(rest) {
    yield artifact({ name: "echo", text: rest });
    yield completed();
  },
  *say(rest) {
    yield completed(rest);
  },
  *quiet() {},
  *stream(rest) {
    const pieces = Number(rest);
    yield working("Begun.");
    for (let i = 1; i <= pieces; i++) {
      yield artifact({ name: "pieces", text: `piece ${i}`, append: true, lastChunk: i === pieces });
    }
    yield completed("Done.");
  },
  *progress(rest) {
    for (let i = 1; i <= Number(rest); i++) yield working(`Step ${i}.`);
    yield completed();
  },
  *replace() {
    yield artifact({ id: "one", name: "draft", text: "first" });
    yield artifact({ id: "two", text: "other" });
    yield artifact({ id: "one", name: "final", text: "second" });
    yield completed();
  },
  *file() {
    const bytes = new Uint8Array([0xfb, 0xef, 0xff, 0x00]);
    yield artifact({ name: "file", file: { bytes, mediaType: "application/octet-stream", name: "four.bin" } });
    yield completed();
  },
  *url() {
    yield artifact({ parts: [{ url: "https://files.example/report.pdf", mediaType: "application/pdf" }] });
    yield completed();
  },
  *data() {
    yield artifact({ data: { list: [1, 2.5, "three", null, true], inner: { empty: {} } } });
    yield artifact({ parts: [{ data: null }] });
    yield completed();
  },
  *note() {
    yield metadata({ first: 1, shared: { a: [1] } });
    yield working("Half.");
    yield metadata({ shared: "b" });
    yield completed();
  },
  *annotated() {
    const extensions = ["urn:example:ext:may:v1"];
    const metadata = { "urn:example:ext:may:v1": { rank: 1 } };
    yield working({ parts: [{ text: "Noted." }], metadata, extensions });
    yield artifact({ text: "noted", description: "With notes.", metadata, extensions });
    yield completed();
  },
};

/** Commands about the turn, whose fields the agent returns as data. */
const questions: Record<string, Command> = {
  *turn(_rest, turn) {
    const { contextId, taskId, tenant, attempt, caller, message } = turn;
    const seen: JsonObject = {
      contextId,
      taskId,
      tenant,
      metadata: turn.metadata,
      attempt,
      owner: caller.owner,
      extensions: [...turn.extensions],
      outputModes: [...turn.acceptedOutputModes],
      messageId: message.messageId,
      data: [...turn.data],
    };
    yield artifact({ name: "turn", data: seen });
    yield completed();
  },
  *begun(_rest, turn) {
    yield artifact({ data: { initial: turn.initialMetadata, now: turn.metadata } });
    yield completed();
  },
  *history(_rest, turn) {
    yield artifact({ name: "history", data: turn.history.map((message) => message.messageId) });
    yield completed();
  },
  async *talk(_rest, turn) {
    const messages = await turn.conversation.messages();
    const talk = messages.map(({ role, text, state }) => {
      return `${role === "user" ? ">" : "<"} ${text}${state === undefined ? "" : ` (${TaskState[state]})`}`;
    });
    yield artifact({ name: "talk", data: talk });
  },
  async *references(_rest, turn) {
    const tasks = await turn.referencedTasks();
    yield artifact({ name: "references", data: tasks.map((task) => task.id) });
    yield completed();
  },
  *shape(_rest, turn) {
    const json = turn.acceptedOutputModes.includes("application/json");
    yield artifact(json ? { data: { answer: 42 } } : { text: "42" });
    yield completed();
  },
};

const expense = {
  type: "object",
  properties: { amount: { type: "number" }, purpose: { type: "string" } },
  required: ["amount", "purpose"],
};

/** Commands that ask by forms. The command holds for the whole task, because answers are data. */
const forms: Record<string, Command> = {
  async *form(_rest, turn) {
    const answer = yield* turn.form(expense, { text: "What for?" });
    yield artifact({ data: answer });
  },
};

/** Commands that wait at a gate in various states. */
const waits: Record<string, Command> = {
  async *wait(rest, turn) {
    yield working("Waiting.");
    await gates.pass(rest, turn.signal);
    if (turn.signal.aborted) return;
    yield artifact({ name: "after", text: "after the gate" });
    yield completed("Done.");
  },
  async *half(rest, turn) {
    yield working("Begun.");
    yield artifact({ name: "halves", text: "one" });
    await gates.pass(rest, turn.signal);
    yield artifact({ name: "halves", text: "two", append: true, lastChunk: true });
    yield completed();
  },
  /** Yields the same events as `half`, with steps around each of them. One event comes from a callback. */
  async *unseen(rest, turn) {
    await turn.step("unseen", () => ["unseen"]);
    yield working("Begun.");
    for (let i = 0; i < 20; i++) await turn.step("unseen", () => "unseen");
    await turn.emit(artifact({ name: "halves", text: "one" }));
    await turn.step("unseen", () => Promise.reject(new Error("unseen"))).catch(() => {});
    await gates.pass(rest, turn.signal);
    await turn.step("unseen", () => null, { per: "task" });
    yield artifact({ name: "halves", text: "two", append: true, lastChunk: true });
    await turn.step("unseen", () => {});
    yield completed();
  },
  async *considered(rest, turn) {
    await turn.step("unseen", () => 1);
    yield inputRequired(rest);
    await turn.step("unseen", () => 2);
  },
  async *pause(rest, turn) {
    yield working("Waiting.");
    await gates.pass(rest, turn.signal);
    yield artifact({ name: "paused", text: "goes on" });
  },
  async *silent(rest, turn) {
    await gates.pass(rest, turn.signal);
    yield completed();
  },
  *ask(rest) {
    yield inputRequired(rest);
  },
  *asknote(rest) {
    yield inputRequired(rest);
    yield metadata({ asked: true });
  },
  async *askafter(rest, turn) {
    yield working("Waiting.");
    await gates.pass(rest, turn.signal);
    yield inputRequired("Which one?");
  },
  async *askon(rest, turn) {
    yield inputRequired("Which one?");
    await gates.pass(rest, turn.signal);
    yield working("Found out by myself.");
    yield completed();
  },
  async *askgo(rest, turn) {
    yield working("Looking.");
    // Waits until the first entry is being stored, so that the next ones are stored together.
    await new Promise(setImmediate);
    yield inputRequired("Which one?");
    yield working("Found out by myself.");
    yield artifact({ name: "found", text: "by myself" });
    await gates.pass(rest, turn.signal);
  },
  *auth(rest) {
    yield authRequired(rest);
  },
  async *authwait(rest, turn) {
    yield working("Looking.");
    yield authRequired("Grant access to the calendar.");
    await gates.pass(rest, turn.signal);
    yield working("Access was granted.");
    yield artifact({ name: "calendar", text: "free" });
    yield completed();
  },
  async *wrapup(rest, turn) {
    yield working("Waiting.");
    await gates.pass(rest, turn.signal);
    yield completed("Finished all the same.");
  },
  async *stopped(rest, turn) {
    yield working("Waiting.");
    await gates.pass(rest, turn.signal);
    yield canceled("Stopped on request.");
  },
  async *stubborn(rest) {
    yield working("Not listening.");
    await gates.pass(rest);
    yield artifact({ name: "late", text: "too late" });
    yield completed("Too late.");
  },
};

/** Commands that do not succeed, and agents that break the rules. */
const troubles: Record<string, Command> = {
  *reject(rest) {
    yield rejected(rest);
  },
  *fail(rest) {
    yield artifact({ name: "half", text: "half of it" });
    yield failed(rest);
  },
  *error(rest) {
    yield working("Trying.");
    throw new AgentError(rest);
  },
  *crash() {
    yield working("Trying.");
    throw new Error("secret: the password is hunter2");
  },
  crashfirst() {
    throw new Error("secret: the password is hunter2");
  },
  *talkative() {
    yield completed("Done.");
    yield artifact({ name: "late", text: "nobody asked" });
    yield working("Still here.");
  },
  *bare() {
    yield artifact({ name: "bare", parts: [] });
    yield completed();
  },
  *speechless() {
    yield working([]);
    yield completed();
  },
  *replying() {
    yield reply("A task is not answered like this.");
  },
  *resubmit() {
    yield working();
    yield { kind: "status", state: TaskState.SUBMITTED, content: undefined };
  },
  *infinite() {
    yield artifact({ text: "too much", metadata: { size: Number.POSITIVE_INFINITY } });
    yield completed();
  },
  *unnumbered() {
    yield artifact({ data: { size: Number.NaN } });
    yield completed();
  },
  *bottomless() {
    let data: JsonValue = 1;
    for (let depth = 0; depth < 80; depth++) data = [data];
    yield artifact({ data });
    yield completed();
  },
  *halved() {
    yield working("half of a pair: \ud83e");
    yield artifact({ text: "half of a pair: \ud83e" });
    yield completed();
  },
  *undefined() {
    yield artifact({ text: "nothing", metadata: { nothing: undefined } as unknown as JsonObject });
    yield completed();
  },
};

const commands: Readonly<Record<string, Command>> = { ...results, ...questions, ...waits, ...troubles };

/** Runs the command that a message's first word names. */
export function obey(turn: Turn): AsyncIterable<AgentEvent> | Iterable<AgentEvent> {
  const [, word = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(turn.text) ?? [];
  const [first] = turn.history[0]?.parts ?? [];
  const command = forms[String(first?.content.value ?? word)] ?? commands[word === "" ? "turn" : word];
  if (command === undefined) throw new AgentError(`There is no command ${word}.`);
  return command(rest, turn);
}

function card(name: string, more: AgentCardInput = {}): AgentCardInput {
  const skill = { id: "obey", name: "Obey", description: "Does what the message says.", tags: ["test"] };
  const defaultInputModes = ["text/plain", "application/json"];
  return {
    name,
    description: `The ${name} agent of tests.`,
    version: "1.2.3",
    defaultInputModes,
    skills: [skill],
    ...more,
  };
}

/** Creates an agent that runs commands. */
export function obedient(name: string, more: AgentCardInput = {}, rest: Partial<Agent> = {}): Agent {
  return {
    card: card(name, more),
    async *execute(turn) {
      yield* obey(turn);
    },
    ...rest,
  };
}

/** Answers with a message and never with a task. Some words make it break its rules. */
export const messenger: Agent = {
  card: card("messenger"),
  responds: "message",
  async *execute(turn) {
    const [word, gate = ""] = turn.text.split(" ");
    if (word === "nothing") return;
    if (word === "status") yield working("This is no message.");
    if (word === "empty") yield reply([]);
    if (word === "crash") throw new Error("secret: the password is hunter2");
    if (word === "error") throw new AgentError("The oracle is silent today.");
    if (word === "wait") await gates.pass(gate, turn.signal);
    if (turn.signal.aborted) await gates.pass(`${gate} was left`, turn.signal);
    yield reply({ parts: [{ text: `You said: ${turn.text}` }], metadata: { mood: "fine" } });
  },
};

/** Answers with the number of turns and of earlier messages in the conversation. */
export const rememberer: Agent = {
  card: card("rememberer"),
  responds: "message",
  remembers: true,
  async *execute({ conversation }) {
    const count = await conversation.state.update<number>((before = 0) => before + 1);
    yield reply(`${count} after ${(await conversation.messages()).length - 1}`);
  },
};

/** Answers with a message if the text begins with "direct", or else with a task. */
export const undecided: Agent = {
  card: card("undecided"),
  responds: "either",
  async *execute(turn) {
    if (turn.text.startsWith("direct")) yield reply(turn.text);
    else yield* obey(turn);
  },
};

const refusalsByWord: Readonly<Record<string, (request: Pick<AcceptRequest, "task">) => Error>> = {
  content: () =>
    new A2AError("CONTENT_TYPE_NOT_SUPPORTED", "Only Markdown is taken.", { metadata: { supported: "text/markdown" } }),
  context: () => invalid([{ field: "message.contextId", description: "is closed" }]),
  caller: () => new A2AError("PERMISSION_DENIED", "Not for you."),
  quota: () => new A2AError("TOO_MANY_REQUESTS", "The quota is used up.", { retryAfterMs: 2_000 }),
  broken: () => new Error("secret: the password is hunter2"),
  task: ({ task }) =>
    new A2AError("PERMISSION_DENIED", "Not now.", {
      metadata: { state: TaskState[task?.status?.state ?? 0] ?? "", messages: String(task?.history.length) },
    }),
};

/** Throws the error that the text names. */
function refuse(text: string, request: Pick<AcceptRequest, "task">): void {
  const [, word = ""] = /^refuse (\w+)/.exec(text) ?? [];
  const error = refusalsByWord[word]?.(request);
  if (error !== undefined) throw error;
}

const seenOnce = new Set<string>();

/** Checks messages before they are stored. Accepts a message that begins with "once" a single time. */
export const picky: Agent = obedient(
  "picky",
  {},
  {
    async accept(request) {
      await Promise.resolve();
      refuse(request.text, request);
      if (!request.text.startsWith("once ")) return;
      if (seenOnce.has(request.text)) throw new A2AError("TOO_MANY_REQUESTS", "Once is enough.");
      seenOnce.add(request.text);
    },
    async *execute(turn) {
      if (turn.text.startsWith("once ")) yield completed();
      else yield* obey(turn);
    },
  },
);

/** Refuses a message at the start of its turn, which an agent without a task may do. */
export const pickyMessenger: Agent = {
  card: card("picky messenger"),
  responds: "message",
  async *execute(turn) {
    refuse(turn.text, turn);
    yield reply("Taken.");
  },
};

/** Refuses a message at the start of its turn or after its first event, which is too late. */
export const pickyEither: Agent = {
  card: card("picky either"),
  responds: "either",
  async *execute(turn) {
    refuse(turn.text, turn);
    yield working();
    refuse(turn.text.replace(/^late /, ""), turn);
  },
};
