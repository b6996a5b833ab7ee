/** What the processes of the bench say to each other: the one that runs it, the servers, and the load generator. */

/** Eight characters in a request that are replaced by a number in each call, so that no two calls are the same. */
export const NUMBER = "########";

/** One call as it goes over the wire. Bytes travel as base64, because they travel as JSON. */
export type WireCall = {
  readonly port: number;
  /** Calls take numbers below this, at random; left out, each takes the next one. */
  readonly numbersBelow?: number;
  /** Every answer must have these characters in its body: an error counts as a failure of the bench. */
  readonly expect: string;
} & (
  | { readonly transport: "http1"; readonly request: string }
  | {
      readonly transport: "http2";
      readonly path: string;
      readonly headers: readonly (readonly [string, string])[];
      readonly body: string;
    }
);

/** Calls in a closed loop: each of the callers sends its next request when it has its answer. */
export interface RateJob {
  readonly kind: "rate";
  readonly call: WireCall;
  readonly callers: number;
  /** The loop ends after this time, in milliseconds, or after this many calls, whichever comes first. */
  readonly ms?: number;
  readonly calls?: number;
}

export interface RateResult {
  readonly calls: number;
  readonly ms: number;
  /** CPU time of the load generator, in milliseconds. */
  readonly cpuMs: number;
}

/** One streaming call, read to its end as fast as it comes. */
export interface StreamJob {
  readonly kind: "stream";
  readonly call: WireCall;
}

export interface StreamResult {
  readonly ms: number;
  readonly events: number;
  readonly bytes: number;
}

/** Opens many streams of the same call (HTTP/1.1); answered when each has its first event. */
export interface SubscribeJob {
  readonly kind: "subscribe";
  readonly call: WireCall;
  readonly readers: number;
  /** Further ones that stop reading after their first event. */
  readonly stalled: number;
}

/** Waits until every reader's stream is over, then lets go of all, the stalled ones included. */
export interface GatherJob {
  readonly kind: "gather";
}

export interface GatherResult {
  /** Events that the readers got after they were all subscribed. */
  readonly events: number;
  /** From the first of these events to the end of the last reader. */
  readonly ms: number;
}

/** Closes all streams without waiting. */
export interface LeaveJob {
  readonly kind: "leave";
}

export type Job = RateJob | StreamJob | SubscribeJob | GatherJob | LeaveJob;

/** What a job gives; nothing where it is not named here. */
export interface JobResults {
  readonly rate: RateResult;
  readonly stream: StreamResult;
  readonly subscribe: Record<string, never>;
  readonly gather: GatherResult;
  readonly leave: Record<string, never>;
}

/** What a server can be asked: what it has used so far, or to let go the agents that wait for a sign. */
export type ServerQuestion = { readonly kind: "usage"; readonly collect: boolean } | { readonly kind: "go" };

export interface Usage {
  /** CPU time of the whole process, in microseconds. */
  readonly cpuMicros: number;
  /** Bytes. */
  readonly rss: number;
  readonly heap: number;
}

/** Where a server listens, and at which paths its bindings begin. */
export interface Served {
  readonly http?: number;
  readonly grpc?: number | undefined;
  readonly rpcPath?: string;
  readonly restPath?: string;
}

/** A question with the number that its answer will carry. */
export interface Asked<Q> {
  readonly id: number;
  readonly question: Q;
}

export interface Answered {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** The first message of a child: it is ready. */
export interface Ready {
  readonly ready: unknown;
}
