import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard, AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AskedQuestions } from "./asked.js";
import type { FollowOptions, StreamOptions } from "./call-options.js";
import type { Conversation, ConversationState } from "./conversation.js";
import type { MessageInput } from "./message-input.js";
import type { NotifiedTasks } from "./notified.js";
import type { Answer, SendOnceOptions } from "./send.js";
import type { Update } from "./update.js";

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

/** Calls one agent. Made by `connect`. Every method rejects with an A2AError, whatever the binding is. */
export interface A2AClient extends Client<typeof A2AService> {
  /** The card that was found; after `extendedCard` the one that it gave. */
  readonly card: AgentCard;
  /** Of the interfaces that the card names, the one that is called now. */
  readonly interface: AgentInterface;
  /** Sends a message and waits for the answer (specification 3.1.1). */
  send(message: MessageInput, options?: SendOnceOptions): Promise<Answer>;
  /**
   * Sends a message and gives what comes of it, step by step, with the task as it stands (specification 3.1.2). A stream that is cut goes
   * on by itself. Leaving the loop ends the call; the task goes on.
   */
  stream(message: MessageInput, options?: StreamOptions): AsyncGenerator<Update, void, undefined>;
  /**
   * Follows a task that there is (specification 3.1.6), to its end or to where it waits for its client. One that waits already when it
   * is first seen is followed until somebody has answered it: look at its state, or say a `timeoutMs`.
   */
  follow(taskId: string, options?: FollowOptions): AsyncGenerator<Update, void, undefined>;
  /** Messages that belong together. */
  conversation(state?: ConversationState): Conversation;
  /** For a webhook that the agent reports to (`parley-a2a/push-receiver`): its notifications as what a stream would give. */
  notified(): NotifiedTasks;
  /**
   * The card for callers that are known, which takes the place of `card` until the client is closed (specification 3.1.11): later calls
   * go by its interfaces and its security schemes. Credentials go to no other hosts than before.
   *
   * @throws A2AError with reason UNSUPPORTED_OPERATION where the public card does not say that there is one; INVALID_AGENT_RESPONSE
   * for one that `card.verify` does not accept.
   */
  extendedCard(options?: { readonly signal?: AbortSignal }): Promise<AgentCard>;
  /** Closes all connections. Calls under way fail, and new ones do not begin. */
  close(): Promise<void>;
}
