import type { JsonObject } from "@bufbuild/protobuf";
import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../client/client.js";
import type { Conversation } from "../../client/follow/conversation.js";
import { newId } from "../../core/ids.js";
import type { Update } from "../../task/answer.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { answerIn, errorAnswer, type RecordedAnswer } from "./answer.js";
import type { Recording } from "./format.js";

/** A turn that was sent again. */
export interface ReplayedTurn {
  /** Index in the recording. */
  readonly at: number;
  readonly answer: RecordedAnswer;
  readonly tookMs: number;
}

export interface ReplayOptions {
  /** Ends the replay. The task of the current turn continues. */
  readonly signal: AbortSignal;
  /** Called before a turn is sent. */
  readonly onTurn?: (at: number) => void;
  /** Called when a part of an answer has arrived. */
  readonly onUpdate?: () => void;
}

/**
 * Sends the messages of a recording again, one after the other's answer, and yields the new answers.
 *
 * @throws the error of a turn that the agent did not answer, after which nothing is sent
 */
export async function* replay(
  client: Pick<A2AClient, "conversation">,
  { turns, messages }: Pick<Recording, "turns" | "messages">,
  options: ReplayOptions,
): AsyncGenerator<ReplayedTurn, void, undefined> {
  const forms = new FormIds();
  let conversation = client.conversation();
  for (const [at, turn] of turns.entries()) {
    options.signal.throwIfAborted();
    if (turn.begins && at > 0) conversation = client.conversation();
    options.onTurn?.(at);
    const begin = performance.now();
    const answer = await replayedAnswer(conversation, forms.current(messages[at] as Message), options);
    forms.learn(turn.answer, answer);
    yield { at, answer, tookMs: Math.round(performance.now() - begin) };
  }
}

async function replayedAnswer(
  conversation: Conversation,
  given: Message,
  { signal, onUpdate }: ReplayOptions,
): Promise<RecordedAnswer> {
  const { contextId = "", taskId = "" } = conversation;
  let last: Update | undefined;
  try {
    for await (const update of conversation.stream({ ...given, messageId: newId(), contextId, taskId }, { signal })) {
      onUpdate?.();
      last = update;
    }
  } catch (error) {
    const answer = signal.aborted ? undefined : errorAnswer(error);
    if (answer === undefined) throw error;
    return answer;
  }
  return answerIn(last);
}

/** Ids of forms as they were recorded, and as they are now: the answer to a form names it. */
class FormIds {
  readonly #now = new Map<string, string>();

  learn(recorded: RecordedAnswer, answer: RecordedAnswer): void {
    const [then, now] = [formId(recorded), formId(answer)];
    if (then !== undefined && now !== undefined) this.#now.set(then, now);
  }

  /** Returns a message with the ids of now. */
  current(message: Message): Message {
    let json = JSON.stringify(message.parts.map((part) => part.metadata ?? null));
    for (const [then, now] of this.#now) json = json.replaceAll(JSON.stringify(then), JSON.stringify(now));
    const metadata = JSON.parse(json) as (JsonObject | null)[];
    const parts = message.parts.map((part, at) => ({ ...part, ...(metadata[at] && { metadata: metadata[at] }) }));
    return { ...message, parts };
  }
}

function formId({ message, artifacts }: RecordedAnswer): string | undefined {
  const all = [...message, ...artifacts.flatMap(({ parts }) => parts)].map((part) => "data" in part && part.data);
  const form = all.find((data): data is JsonObject => isJsonObject(data) && data.type === "form");
  return typeof form?.id === "string" ? form.id : undefined;
}
