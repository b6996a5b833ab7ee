import type { Turn } from "../../agent/agent.js";
import type {
  ConversationMessage,
  ConversationPageOptions,
  ConversationTask,
  TurnConversation,
} from "../../agent/conversation.js";
import { type TurnProgress, turnConversation } from "../../agent/turn.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import type { TaskStore } from "../../store/task-store.js";
import { isTerminal } from "../../task/state.js";
import { readForAgent } from "../log/outage.js";
import { StateChanges } from "../log/state-changes.js";
import type { TaskLog } from "../log/task-log.js";

type ConversationReads = Pick<TurnConversation, "messages" | "tasks">;

interface TurnConversationSource {
  readonly store: TaskStore;
  readonly reads: ConversationReads;
  /** Returns the log of the turn's task while it is in use. */
  readonly log: () => TaskLog | undefined;
  readonly progress: TurnProgress;
}

export class AgentConversation implements TurnConversation {
  readonly state: StateChanges;
  readonly #reads: ConversationReads;
  readonly #signal: () => AbortSignal;

  constructor({ store, reads, log, progress }: TurnConversationSource, turn: TurnRequest) {
    this.#reads = reads;
    this.#signal = progress.signal;
    const stored = log()?.fold.changes;
    this.state = new StateChanges({
      store,
      signal: progress.signal,
      key: { tenant: turn.tenant, owner: turn.caller.owner, contextId: turn.message.contextId },
      turn: turn.position,
      stored: stored?.turn === turn.position ? stored.count : 0,
      reused: () => progress.reusedChanges(),
      refusal: () => {
        if (turn.taskId === "") return "An agent that answers directly changes the state only if it `remembers`.";
        const isPast = progress.isOver() || isTerminal(log()?.plannedState ?? 0);
        return isPast ? "The turn is over and changes the state no more." : undefined;
      },
    });
  }

  messages(options?: ConversationPageOptions): Promise<ConversationMessage[]> {
    return readForAgent(() => this.#reads.messages(options), this.#signal);
  }

  tasks(options?: ConversationPageOptions): Promise<ConversationTask[]> {
    return readForAgent(() => this.#reads.tasks(options), this.#signal);
  }
}

/** Returns the changes of a turn to the state of its conversation; undefined if it did not use its conversation. */
export function changesOf(turn: Turn): StateChanges | undefined {
  const conversation = turnConversation(turn);
  return conversation instanceof AgentConversation ? conversation.state : undefined;
}
