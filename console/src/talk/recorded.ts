import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { Role } from "../../../src/client/web.js";
import { withoutSecrets } from "../../../src/core/net.js";
import { answerIn, type RecordedAnswer, recordedAnswerIn } from "../../../src/examine/recording/answer.js";
import { type Recorded, type RecordedTurn, recordedMessage } from "../../../src/examine/recording/format.js";
import { speechOf } from "./connection.js";
import { speechNamed } from "./speech.js";
import type { TalkStore } from "./talk-store.js";
import type { Block, TaskView, Turn } from "./talk-view.js";
import { isRunning } from "./task-facts.js";

/** A conversation of this browser as a recording. */
export interface RecordedTalk extends Recorded {
  readonly turns: readonly RecordedTurn[];
  /** Messages that are left out, because this page does not have them or their answers as a whole. */
  readonly left: number;
}

/** A message of a conversation, and what this page knows of its answer. */
interface Said {
  readonly message: Message;
  readonly turn: Turn | undefined;
  /** The task that the message is the last one of. */
  readonly task: TaskView | undefined;
}

/** Returns the messages and answers of a conversation as a recording. */
export async function recordedTalk(store: TalkStore): Promise<RecordedTalk> {
  const { blocks, connected } = store.view();
  const all = blocks.flatMap(saidIn).toSorted((one, other) => (one.turn?.at ?? 0) - (other.turn?.at ?? 0));
  const turns: RecordedTurn[] = [];
  for (const { message, turn, task } of all) {
    const answer = turn?.isCut === true ? undefined : await answerOf(turn, task);
    if (answer === undefined) continue;
    const tookMs = turn?.tookMs ?? 0;
    turns.push({ begins: turns.length === 0, message: recordedMessage(message), answer, tookMs });
  }
  const { agent, agentName, speech } = store.kept;
  const { binding, version } = speechNamed(connected && speechOf(connected, speech)) ?? { binding: "", version: "" };
  const url = connected?.client.interface.url ?? agent;
  return {
    agent: agentName,
    interface: { binding, version, url: withoutSecrets(url) },
    turns,
    left: all.length - turns.length,
  };
}

function saidIn(block: Block): readonly Said[] {
  if (block.kind === "turn") return [{ message: block.turn.message, turn: block.turn, task: undefined }];
  const { view, turns } = block;
  const own = view.messages.filter(({ role }) => role === Role.USER);
  return own.map((message, at) => ({
    message,
    turn: turns.find(({ id }) => id === message.messageId),
    task: at === own.length - 1 ? view : undefined,
  }));
}

/** Returns the answer as it was, or that of a task that has not changed since. */
async function answerOf(turn: Turn | undefined, view: TaskView | undefined): Promise<RecordedAnswer | undefined> {
  if (turn?.answer !== undefined) return recordedAnswerIn(JSON.parse(turn.answer));
  if (turn?.reply !== undefined) return answerIn({ message: turn.reply, task: undefined });
  const task = view?.task;
  return task === undefined || isRunning(task) ? undefined : answerIn({ task, message: undefined });
}
