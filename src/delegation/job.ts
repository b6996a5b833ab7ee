import type {
  CallingTurn,
  DelegatedContent,
  DelegateOptions,
  RelayCheckpoint,
  RelayedEvent,
} from "../agent/delegation.js";
import type { Logger } from "../core/log.js";
import type { SubTaskClient } from "./client.js";
import type { PendingAnswers } from "./pending-answers.js";
import type { RelayPlace } from "./relayed.js";

/** Another agent, for the calls of one turn. */
export interface RemoteForTurn {
  /** True if it should get the caller's token and the caller has none. */
  readonly lacksCaller: boolean;
  /** True if it gets the caller's token. */
  readonly passesCaller: boolean;
  /** @throws A2AError */
  client(): Promise<SubTaskClient>;
  headers(): Headers;
}

/** One delegation of a turn. */
export interface DelegationJob {
  readonly turn: CallingTurn;
  readonly agent: string;
  readonly name: string;
  /** Default: the message that started the work. */
  readonly message: DelegatedContent | undefined;
  readonly options: DelegateOptions;
  readonly remote: RemoteForTurn;
  /** Relayed events of this turn's delegations and of those whose question it answers. */
  readonly events: readonly RelayedEvent[];
  /** Adds the turn's facts to each line. */
  readonly logger: Logger;
  /** Time for which an unreachable agent is retried, in milliseconds. */
  readonly outageMs: number;
  /** Time for which a cancel waits for the other agent to be known and to stop, in milliseconds. */
  readonly cancelMs: number;
  /** Fires when the turn ends with a question: its other delegations continue in the answering turn. */
  readonly pause: AbortController;
  /** This turn's answers in flight. */
  readonly answers: PendingAnswers;
  /** Fires when the turn ends: delegations that it does not await are abandoned. */
  readonly end: AbortSignal;
  /** Cancels an unneeded sub-task. */
  readonly cancelSubTask: (checkpoint: RelayCheckpoint) => void;
  /** Returns the context in which the agent worked last for this conversation, if it is known. */
  readonly contextBefore: () => Promise<string | undefined>;
  /** Notes the context in which the agent works; empty if it is not known. */
  readonly worksIn: (contextId: string) => void;
  /** Notes that the turn handles a sub-task. */
  readonly seen: (place: RelayPlace) => void;
}
