import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ReadableTask } from "../../../src/client/web.js";
import { messagesOf } from "./messages-of.js";
import type { Cut, TaskView } from "./talk-view.js";
import type { StreamConnection } from "./wire.js";

/** Change of a task: an event, or a reading of the whole. */
export interface Change {
  readonly generation?: number | undefined;
  readonly isWhole?: boolean;
  /** The connection that the event came over. */
  readonly connection?: StreamConnection | undefined;
}

/** The tasks of a conversation, in the order in which they became known. */
export class TaskViews {
  readonly #views = new Map<string, TaskView>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get all(): readonly TaskView[] {
    return [...this.#views.values()];
  }

  get(id: string): TaskView | undefined {
    return this.#views.get(id);
  }

  /** Returns the view of a task, which may be new. */
  know(id: string, generation?: number): TaskView {
    const known = this.#views.get(id);
    if (known !== undefined) return known;
    const view: TaskView = {
      id,
      task: undefined,
      state: undefined,
      messages: [],
      generation,
      isFollowed: false,
      error: undefined,
      cuts: [],
      revision: 0,
    };
    this.#views.set(id, view);
    return view;
  }

  set(id: string, change: Partial<TaskView>): void {
    const view = this.know(id);
    this.#views.set(id, { ...view, ...change, revision: view.revision + 1 });
    this.#onChange();
  }

  /** Adds a message of this page before the agent names it. */
  addMessage(id: string, message: Message): void {
    const { messages } = this.know(id);
    if (messages.some(({ messageId }) => messageId === message.messageId)) return;
    this.set(id, { messages: [...messages, message] });
  }

  /** Notes that the connections of followed tasks end, and how far they had come. */
  cut(eventsBefore: number): void {
    for (const { id, isFollowed, cuts, generation } of this.all) {
      if (isFollowed) this.set(id, { cuts: [...cuts, newCut("purpose", generation, eventsBefore)] });
    }
  }

  /** Takes a task after an event. */
  take(task: ReadableTask, change: Change): void {
    const view = this.know(task.id);
    const last = view.isFollowed ? view.cuts.at(-1) : undefined;
    this.set(task.id, {
      task,
      state: task.status?.state,
      messages: messagesOf(view.messages, task),
      generation: change.generation ?? view.generation,
      error: undefined,
      ...(last !== undefined && { cuts: [...view.cuts.slice(0, -1), resumed(last, change)] }),
    });
  }
}

export function newCut(why: Cut["why"], before: number | undefined, eventsBefore: number): Cut {
  return { why, before, eventsBefore, resumed: undefined, eventsSince: 0, now: before };
}

/** A cut after a further event of its task. */
function resumed(cut: Cut, { generation, isWhole = false, connection }: Change): Cut {
  const isExact = !isWhole && connection?.after !== undefined;
  return {
    ...cut,
    resumed: cut.resumed ?? (isExact ? "after" : "snapshot"),
    eventsSince: cut.eventsSince + 1,
    now: generation ?? cut.now,
  };
}
