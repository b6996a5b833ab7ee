/** Messages between the processes of the bench: the one that runs it, the servers, and the load generator. */

/** Eight characters in a request that are replaced by a number in each call, so that no two calls are the same. */
export const NUMBER = "########";

/** Id of the task of a filled file with that number. It has the form of the server's own ids: others are looked up as names. */
export const FILLED_TASK: string = `00000000-0000-7000-8000-0000${NUMBER}`;

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
  /** Number of callers that share a connection of HTTP/1.1 and pipeline their requests on it. Default: 1. */
  readonly pipelined?: number;
  /** The loop ends after this time, in milliseconds, or after this many calls, whichever comes first. */
  readonly ms?: number;
  readonly calls?: number;
}

export interface RateResult {
  readonly calls: number;
  readonly ms: number;
  /** CPU time of the load generator, in milliseconds. */
  readonly cpuMs: number;
  /** Bytes of body of all answers. */
  readonly bytes: number;
}

/** One call, for a closer look at its answer. */
export interface AnswerJob {
  readonly kind: "answer";
  readonly call: WireCall;
}

export interface AnswerResult {
  /** Base64. */
  readonly body: string;
}

/** One streaming call, read to its end as fast as it comes. */
export interface StreamJob {
  readonly kind: "stream";
  readonly call: WireCall;
  /** The stream is left after this time, in milliseconds. */
  readonly limitMs?: number;
}

export interface StreamResult {
  readonly ms: number;
  readonly events: number;
  readonly bytes: number;
  /** The time limit came before the end. */
  readonly isCutOff: boolean;
}

/** Opens many streams of the same call (HTTP/1.1); answered when each has its first event. */
export interface SubscribeJob {
  readonly kind: "subscribe";
  readonly call: WireCall;
  readonly readers: number;
  /** Further ones that stop reading after their first event. */
  readonly stalled: number;
}

/** Waits until every stream that is read is over. */
export interface GatherJob {
  readonly kind: "gather";
}

export interface GatherResult {
  /** Events that the readers got after they were all subscribed. */
  readonly events: number;
  /** From the first of these events to the end of the last reader. */
  readonly ms: number;
  /** CPU time of the load generator meanwhile, in milliseconds. */
  readonly cpuMs: number;
}

/** Lets the stalled streams read on, and waits for their ends. */
export interface CatchUpJob {
  readonly kind: "catch-up";
}

export interface CatchUpResult {
  /** Events that the stalled streams got, from their first to their last. */
  readonly events: number;
  /** From the moment they read on. */
  readonly ms: number;
}

/** Closes all streams without waiting. */
export interface LeaveJob {
  readonly kind: "leave";
}

/** Calls with a pause after each answer, for so many milliseconds. */
export interface PacedJob {
  readonly kind: "paced";
  readonly call: WireCall;
  readonly callers: number;
  readonly pauseMs: number;
  readonly ms: number;
}

/** Times of all answers, in milliseconds. */
export interface PacedResult {
  readonly took: readonly number[];
}

/** Readers that send a call and take its answer slowly, for so many milliseconds. */
export interface SlowReadersJob {
  readonly kind: "slow-readers";
  readonly call: WireCall;
  readonly readers: number;
  readonly bytesPerSecond: number;
  readonly ms: number;
}

export interface SlowReadersResult {
  readonly bytes: number;
}

export type Job =
  | PacedJob
  | SlowReadersJob
  | RateJob
  | AnswerJob
  | StreamJob
  | SubscribeJob
  | GatherJob
  | CatchUpJob
  | LeaveJob;

/** Results of jobs. A job that is not named here has none. */
export interface JobResults {
  readonly rate: RateResult;
  readonly paced: PacedResult;
  readonly "slow-readers": SlowReadersResult;
  readonly answer: AnswerResult;
  readonly stream: StreamResult;
  readonly subscribe: Record<string, never>;
  readonly gather: GatherResult;
  readonly "catch-up": CatchUpResult;
  readonly leave: Record<string, never>;
}

/** Asks an attacker to attack a port of this machine for `ms` milliseconds. */
export interface AttackQuestion {
  readonly title: string;
  readonly port: number;
  readonly ms: number;
}

/** Report of an attacker. */
export interface Attacked {
  readonly pieces: number;
  /** Connections that were opened again because the other side had closed them. */
  readonly reopened: number;
  /** CPU time of the attacker, in milliseconds. */
  readonly cpuMs: number;
  readonly ms: number;
}

/**
 * Questions to a server: its usage, the stops of its event loop and its profile. `go` lets agents continue that wait for the
 * sign of the bench.
 */
export type ServerQuestion =
  | { readonly kind: "usage"; readonly settle: boolean }
  | { readonly kind: "go" }
  | { readonly kind: "stops"; readonly phase: "begin" | "end" }
  | { readonly kind: "profile"; readonly phase: "begin" | "end" };

/** Longest stops of an event loop, in milliseconds. */
export interface Stopped {
  readonly longest: number;
  /** Maximum CPU time of its thread between two checks. Other work of the machine does not change it. */
  readonly mostCpu: number;
  /** The longest, without the time for which its thread could have run and the system let others run. */
  readonly longestOwn: number;
}

export interface Usage {
  /** CPU time of the whole process, in microseconds. */
  readonly cpuMicros: number;
  /** CPU time of its main thread, in microseconds; 0 where the system does not tell. */
  readonly mainMicros: number;
  /** Bytes. */
  readonly rss: number;
  /** Used by objects, and by what they hold outside of the heap (buffers above all), of the main thread. */
  readonly heap: number;
  readonly external: number;
}

/** Where the time of a server's main thread went. */
export interface Profile {
  readonly functions: readonly ProfiledFunction[];
  /** Of the profile, in microseconds. */
  readonly micros: number;
}

export interface ProfiledFunction {
  readonly name: string;
  /** `file:` URL or the name of a built-in module; empty for functions outside scripts. */
  readonly url: string;
  /** Counted from 1. */
  readonly line: number;
  /** In the function itself, without what it called, in microseconds. */
  readonly selfMicros: number;
}

/** Where a server listens, and at which paths its bindings begin. */
export interface Served {
  readonly http?: number;
  readonly grpc?: number | undefined;
  readonly rpcPath?: string;
  readonly restPath?: string;
  /** Token that callers authenticate with. Absent if the server does not require one. */
  readonly token?: string;
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
