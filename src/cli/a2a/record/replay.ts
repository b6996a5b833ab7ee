import { resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { diffArrays } from "diff";
import { type Message, MessageSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Conversation } from "../../../client/follow/conversation.js";
import { newId } from "../../../core/ids.js";
import type { Update } from "../../../task/answer.js";
import { jsonReader } from "../../../wire/json-reader.js";
import { formIn } from "../chat/form.js";
import type { Context, Run } from "../context.js";
import { usage } from "../errors.js";
import { field, singleLine } from "../text.js";
import { answerIn, failed, isAnswer, linesOf, type RecordedAnswer } from "./answer.js";
import { type RecordedTurn, readRecording, recordedOf, rewrite } from "./recording.js";

/** A turn that was sent again. */
interface Replayed {
  readonly turn: number;
  readonly isSame: boolean;
  /** Lines that are gone (-) and that are new (+), with those around them. */
  readonly difference: readonly string[];
  readonly tookMs: number;
  readonly recordedMs: number;
}

const readMessage = jsonReader(MessageSchema);

/** `replay`: sends the messages of a recording again, and compares the answers. */
export const run: Run = async (context, [file = ""]) => {
  const path = resolve(context.io.cwd, file);
  const { turns, isCut } = readRecording(path);
  const messages = turns.map(({ message }, at) => messageIn(message, `${file}, line ${at + 2}`));
  if (turns.length === 0) throw usage(`${file} has no turns`, "record writes them");
  const { out } = context;
  if (isCut) out.warn(`the last line of ${file} is cut, and left out`);
  context.startBudget();
  const { client } = await context.agent();
  const isShape = context.own("shape").length > 0;
  const replay = new Replay(context, client.conversation());
  const all: Replayed[] = [];
  const answered: RecordedTurn[] = [];
  for (const [at, turn] of turns.entries()) {
    if (turn.begins && at > 0) replay.restart(client.conversation());
    const begin = performance.now();
    const answer = await replay.send(messages[at] as Message, turn.answer);
    const tookMs = Math.round(performance.now() - begin);
    answered.push({ ...turn, answer, tookMs });
    // As in the file, the answer has no credentials.
    const lines = linesOf(answer, isShape).map((line) => out.redactor.text(line));
    const difference = differences(linesOf(turn.answer, isShape), lines);
    const replayed = { turn: at + 1, isSame: difference.length === 0, difference, tookMs, recordedMs: turn.tookMs };
    all.push(replayed);
    if (!out.mode.isJson) out.text(textOf(replayed));
  }
  report(context, client.card.name, all);
  if (context.own("update").length > 0) {
    rewrite(path, await recordedOf(context), answered, (text) => out.redactor.text(text));
  }
};

function report(context: Context, agent: string, turns: readonly Replayed[]): void {
  const differing = turns.filter(({ isSame }) => !isSame).length;
  const { out } = context;
  if (out.mode.isJson) out.json({ agent, differing, turns });
  else out.text(field("Result", `${turns.length - differing} same, ${differing} different`));
  if (differing > 0 && context.own("update").length === 0) context.noteFaults();
}

function textOf({ turn, isSame, difference, tookMs, recordedMs }: Replayed): string {
  const verdict = isSame ? "same" : "different";
  const head = field(`Turn ${turn}`, `${verdict}, ${tookMs} ms (recorded: ${recordedMs} ms)`);
  return head + difference.map((line) => `${singleLine(line)}\n`).join("");
}

/** Returns the lines of both sides with their marks; empty if they are the same. */
export function differences(before: readonly string[], after: readonly string[]): readonly string[] {
  const changes = diffArrays([...before], [...after]);
  if (changes.every(({ added, removed }) => !added && !removed)) return [];
  return changes.flatMap(({ added, removed, value }) =>
    value.map((line) => `  ${added ? "+" : removed ? "-" : " "} ${line}`),
  );
}

function messageIn(json: JsonObject, where: string): Message {
  const message = readable(json);
  if (message?.parts.every(({ content }) => content.case !== undefined)) return message;
  throw usage(`${where}: the message is not one of the protocol`);
}

function readable(json: JsonObject): Message | undefined {
  try {
    return readMessage(json);
  } catch {
    return undefined;
  }
}

/** A conversation that is led again. */
class Replay {
  readonly #context: Context;
  #conversation: Conversation;
  /** Ids of forms as they were recorded, and as they are now. */
  readonly #forms = new Map<string, string>();

  constructor(context: Context, conversation: Conversation) {
    this.#context = context;
    this.#conversation = conversation;
  }

  restart(conversation: Conversation): void {
    this.#conversation = conversation;
  }

  /** Sends a message and returns the content of the answer. @param recorded the recorded answer */
  async send(given: Message, recorded: RecordedAnswer): Promise<RecordedAnswer> {
    const { signal } = this.#context;
    const { contextId = "", taskId = "" } = this.#conversation;
    const message = { ...this.#withForms(given), messageId: newId(), contextId, taskId };
    let last: Update | undefined;
    try {
      for await (const update of this.#conversation.stream(message, { signal })) {
        this.#context.touch();
        last = update;
      }
    } catch (error) {
      const failure = this.#context.failure(error);
      if (signal.aborted || !isAnswer(failure)) throw error;
      return failed(failure.code);
    }
    const answer = answerIn(last);
    const [then, now] = [formId(recorded), formId(answer)];
    if (then !== undefined && now !== undefined) this.#forms.set(then, now);
    return answer;
  }

  /** The answer to a form names the form. */
  #withForms(message: Message): Message {
    let json = JSON.stringify(message.parts.map((part) => part.metadata ?? null));
    for (const [then, now] of this.#forms) json = json.replaceAll(JSON.stringify(then), JSON.stringify(now));
    const metadata = JSON.parse(json) as (JsonObject | null)[];
    const parts = message.parts.map((part, at) => ({ ...part, ...(metadata[at] && { metadata: metadata[at] }) }));
    return { ...message, parts };
  }
}

function formId({ message, artifacts }: RecordedAnswer): string | undefined {
  const all = [...message, ...artifacts.flatMap(({ parts }) => parts)];
  return formIn(all.flatMap((part) => ("data" in part ? [part.data] : [])))?.id;
}
