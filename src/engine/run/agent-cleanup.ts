import type { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { EventReader } from "../../agent/agent-events.js";
import { within } from "../../core/async.js";
import type { Logger } from "../../core/log.js";
import { isTerminal } from "../../task/state.js";
import { closeIterator, runToEnd } from "./agent-end.js";

/** Time for an agent to return after the last event of its task; then its signal fires and the execution ends. */
export const agentCleanup = { timeoutMs: 30_000 } as const;

/** Lets an agent clean up after the last event of its turn, which ended the task unless it could not be stored. */
export class AgentCleanup {
  readonly #work: Promise<void>;
  #isOver = false;

  /** @param last the state that the turn has yielded last, if any */
  constructor(iterator: EventReader, last: TaskState | undefined, logger: Logger) {
    this.#work = this.#run(iterator, last, logger);
  }

  async #run(iterator: EventReader, last: TaskState | undefined, logger: Logger): Promise<void> {
    if (last === undefined || !isTerminal(last)) await closeIterator(iterator, logger);
    else await runToEnd(iterator, { state: last }, logger);
    this.#isOver = true;
  }

  /**
   * Waits until the agent has returned or its execution has ended.
   * @returns false if that takes longer than `agentCleanup.timeoutMs`
   */
  async over(executionEnd: Promise<void>): Promise<boolean> {
    return this.#isOver || within(agentCleanup.timeoutMs, Promise.race([this.#work, executionEnd]));
  }
}
