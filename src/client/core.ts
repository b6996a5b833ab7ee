import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AskedQuestions } from "./asked.js";

/** How a client waits between attempts: at random, up to a time that doubles from attempt to attempt. */
export interface Backoff {
  /** Before the second attempt, at most, in milliseconds. */
  readonly firstMs: number;
  /** Between any two attempts, at most, in milliseconds. */
  readonly maxMs: number;
  /** From the first failure on, all together, in milliseconds. */
  readonly maxElapsedMs: number;
  /** The most that a server gets which asks for time, in milliseconds. */
  readonly maxRetryAfterMs: number;
}

/** What the calls of a client rest on. Every method rejects with an A2AError. */
export interface ClientCore {
  /**
   * All methods of the protocol, over the interface that is chosen: with version, tenant, extensions and credentials. What is safe
   * to repeat is repeated: reads, and sends under a key where the agent declares `urn:parley:ext:idempotency:v1`. A stream that has
   * begun is not.
   */
  readonly rpc: Client<typeof A2AService>;
  readonly card: AgentCard;
  /** The agent resumes streams exactly: it declares `urn:parley:ext:resume:v1`. */
  readonly canResume: boolean;
  /** A send under an `Idempotency-Key` may be repeated: the agent declares `urn:parley:ext:idempotency:v1`. */
  readonly idempotent: boolean;
  /** Whether what may have arrived is sent again at all (`maxAttempts`). Default: it is. */
  readonly isRepeating?: boolean;
  /** The agent streams (`capabilities.streaming`). */
  readonly canStream: boolean;
  readonly backoff: Backoff;
  /** The questions that tasks of this client wait with. */
  readonly asked: AskedQuestions;
  /** Default time limit of a send that waits for its task, in milliseconds. Default: none. */
  readonly sendTimeoutMs?: number;
}
