import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard, AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** How a client waits between attempts: at random, up to a time that doubles from attempt to attempt. */
export interface Backoff {
  /** Before the second attempt, at most, in milliseconds. */
  readonly firstMs: number;
  /** Between any two attempts, at most, in milliseconds. */
  readonly maxMs: number;
  /** From the first failure on, all together, in milliseconds. */
  readonly maxElapsedMs: number;
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
  /** The agent streams (`capabilities.streaming`). */
  readonly canStream: boolean;
  readonly backoff: Backoff;
}

/** Calls one agent. Made by `connect`. Every method rejects with an A2AError, whatever the binding is. */
export interface A2AClient extends Client<typeof A2AService> {
  readonly card: AgentCard;
  /** Of the interfaces that the card names, the one that is called now. */
  readonly interface: AgentInterface;
  /**
   * The card for callers that are known (specification 3.1.11).
   *
   * @throws A2AError with reason UNSUPPORTED_OPERATION where the card does not say that there is one.
   */
  extendedCard(options?: { readonly signal?: AbortSignal }): Promise<AgentCard>;
  /** Closes idle connections and lets no new call begin. Calls under way go on to their end. */
  close(): Promise<void>;
}
