import type { JsonObject } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import type { ConversationStorage } from "../follow/conversation.js";
import type { TextBefore } from "./turn-text.js";

/** A saved turn. A running one has no text: its task is read again. */
export interface StoredTurn {
  readonly message: Message;
  readonly text: string;
  readonly state: TaskState | undefined;
  readonly taskId: string | undefined;
  readonly phase: TurnPhase;
  readonly before?: TextBefore;
  readonly key?: string | undefined;
}

interface StoredConversation {
  readonly contextId: string | undefined;
  /** Text of the artifacts of the last turn's task, which the next turn may continue. */
  readonly textBefore?: TextBefore | undefined;
  readonly turns: readonly StoredTurn[];
}

const readMessage = jsonReader(MessageSchema);
const writeMessage = jsonWriter(MessageSchema);

/** Format version; other versions are ignored. */
const VERSION = 1;

/** Loads a conversation; undefined if it does not exist or is unreadable. */
export function loadConversation(storage: ConversationStorage, name: string): StoredConversation | undefined {
  try {
    const kept = JSON.parse(storage.getItem(name) ?? "null") as JsonObject | null;
    if (kept?.version !== VERSION || !Array.isArray(kept.turns)) return undefined;
    const turns = kept.turns.map((turn) => {
      const { message, ...rest } = turn as JsonObject;
      return { ...rest, message: readMessage(message) } as unknown as StoredTurn;
    });
    const contextId = typeof kept.contextId === "string" ? kept.contextId : undefined;
    return { contextId, textBefore: kept.textBefore as TextBefore | undefined, turns };
  } catch {
    return undefined;
  }
}

/** Saves a conversation, or nothing if the storage is full. */
export function saveConversation(
  storage: ConversationStorage,
  name: string,
  { contextId, textBefore, turns }: StoredConversation,
): void {
  try {
    if (turns.length === 0) return storage.removeItem(name);
    const kept = turns.map((turn) => ({ ...turn, message: JSON.parse(writeMessage(turn.message)) }));
    storage.setItem(name, JSON.stringify({ version: VERSION, contextId, textBefore, turns: kept }));
  } catch {
    // A page whose storage is full continues; only a reload loses it.
  }
}

/** State of a turn: running, answered, stopped by the user, or failed. */
export type TurnPhase = "streaming" | "done" | "stopped" | "failed";
