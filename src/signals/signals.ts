// The seam between the processes that have a store open.

/**
 * Carries hints between the processes that have a store open. Only the store has the truth and the order of events: a
 * lost, late, repeated or forged signal costs latency, never an event. Nothing here throws or rejects.
 */
export interface Signals {
  /** Joins as a member. An engine joins under the name by which it holds its leases. */
  join(name: string): SignalMember;
  /** Sends pending signals, then releases every resource. */
  close(): Promise<void>;
}

/** A process, or one of its engines, as other members address it. */
export interface SignalMember {
  /**
   * Announces to all other members that this one has committed a change of a task. Ids are collected for a few
   * milliseconds.
   */
  changed(taskId: string): void;

  /**
   * Calls the listener with ids of tasks that others have changed. It must not throw. A new listener replaces the last
   * one.
   */
  onChanged(listener: (taskIds: readonly string[]) => void): void;

  /**
   * Broadcasts a small value. The next value of the topic replaces one that is not yet sent, so values must be totals,
   * not differences. Others never see an older value of this member after a newer one.
   */
  publish<T>(topic: Topic<T>, value: T): void;

  /**
   * Calls the listener with each value of others, and the name of its sender. A new listener replaces the last one of
   * the topic.
   */
  subscribe<T>(topic: Topic<T>, listener: (value: T, from: string) => void): void;

  /**
   * Asks one member. Resolves to undefined without an answer within `timeoutMs`, and at once if the carrier knows of no
   * member with that name.
   */
  ask<Q, A>(to: string, inquiry: Inquiry<Q, A>, question: Q, timeoutMs: number): Promise<A | undefined>;

  /** Answers the inquiries of others. A question that is repeated within a short time is answered once. */
  answer<Q, A>(inquiry: Inquiry<Q, A>, handler: (question: Q, from: string) => Promise<A>): void;

  /** Sends pending signals, then leaves. The member receives and sends nothing more. */
  leave(): void;
}

/** A kind of broadcast. Values are JSON, at most a few kilobytes of it. */
export interface Topic<T> {
  /**
   * Unique among all topics and inquiries. A new meaning of a value needs a new name, because releases run side by
   * side.
   */
  readonly name: string;
  /** Returns the value of a message, or undefined for one that is not valid. Any program may have sent it. */
  readonly read: (value: unknown) => T | undefined;
}

/** A kind of question to one member, with its answer, both as `Topic`'s values. */
export interface Inquiry<Q, A> {
  readonly name: string;
  /** Returns the question of a message, or undefined for one that is not valid. */
  readonly readQuestion: (value: unknown) => Q | undefined;
  /** Returns the answer of a message, or undefined for one that is not valid. */
  readonly readAnswer: (value: unknown) => A | undefined;
}
