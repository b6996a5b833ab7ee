// The seam between the processes that have a store open.

/**
 * Carries hints between the processes that have a store open. Truth and order are in the store: every signal may be
 * lost, late, repeated or forged, which costs latency and never an event. Nothing here throws or rejects.
 */
export interface Signals {
  /** Joins as a member: an engine under the name by which it holds its leases. */
  join(name: string): SignalMember;
  /** Sends what waits, and releases every resource. */
  close(): Promise<void>;
}

/** A process, or one of several engines of it, as others reach it. */
export interface SignalMember {
  /** Tells all others that something of a task was committed here. Ids are collected for a few milliseconds. */
  changed(taskId: string): void;

  /** Calls the listener with ids of tasks that others have changed. It must not throw. The last listener counts. */
  onChanged(listener: (taskIds: readonly string[]) => void): void;

  /**
   * Broadcasts a small value. Until it is sent it is replaced by the next one of the topic, so values have to be totals
   * rather than differences. Others never see an older value of this member after a newer one.
   */
  publish<T>(topic: Topic<T>, value: T): void;

  /** Calls the listener with each value of others, and the name of its sender. The last listener of a topic counts. */
  subscribe<T>(topic: Topic<T>, listener: (value: T, from: string) => void): void;

  /**
   * Asks one member. Resolves to undefined without an answer within `timeoutMs`, and at once if the carrier knows of no
   * member with that name.
   */
  ask<Q, A>(to: string, inquiry: Inquiry<Q, A>, question: Q, timeoutMs: number): Promise<A | undefined>;

  /** Answers the inquiries of others. A question that is repeated within a short time is answered once. */
  answer<Q, A>(inquiry: Inquiry<Q, A>, handler: (question: Q, from: string) => Promise<A>): void;

  /** Sends what waits, and leaves: hears and sends nothing more. */
  leave(): void;
}

/** A kind of broadcast. Values are JSON, at most a few kilobytes of it. */
export interface Topic<T> {
  /** Unique among all topics and inquiries. Another meaning of a value needs another name: releases run side by side. */
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
