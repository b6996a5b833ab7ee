import type { CallingTurn, DelegatedContent, DelegateOptions, RelayedEvent, RelayMark } from "../agent/delegation.js";
import type { Logger } from "../core/log.js";
import type { Answers } from "./answers.js";
import type { SubTaskClient } from "./client.js";
import type { RelayPlace } from "./marks.js";

/** Another agent, for the calls of one turn. */
export interface RemoteForTurn {
  /** Whether it gets the caller's token, and there is none. */
  readonly lacksCaller: boolean;
  /** Whether it gets the caller's token. */
  readonly passesCaller: boolean;
  /** @throws A2AError */
  client(): Promise<SubTaskClient>;
  headers(): Headers;
}

/** One delegation, as its turn asks for it. */
export interface DelegationJob {
  readonly turn: CallingTurn;
  readonly agent: string;
  readonly name: string;
  /** Undefined: the message that began the work. */
  readonly message: DelegatedContent | undefined;
  readonly options: DelegateOptions;
  readonly remote: RemoteForTurn;
  /** What the task has of this turn's delegations and of those whose question it answers. */
  readonly events: readonly RelayedEvent[];
  readonly logger: Logger;
  /** For how long an agent that cannot be reached is tried again, in milliseconds. */
  readonly outageMs: number;
  /** How long a cancel waits for the other agent to be known and to stop, in milliseconds. */
  readonly cancelMs: number;
  /** Fires when the turn is over with a question: other delegations of it are gone on with in the turn of the answer. */
  readonly pause: AbortController;
  /** Answers of this turn that are on their way. */
  readonly answers: Answers;
  /** Fires when the turn is over: what it does not wait for is left. */
  readonly end: AbortSignal;
  /** Lets a sub-task go that is of no use any more. */
  readonly leave: (mark: RelayMark) => void;
  /** Notes that the turn sees to a sub-task. */
  readonly seen: (place: RelayPlace) => void;
}
