import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard, AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Answer, Update } from "../task/answer.js";
import type { MessageInput } from "../task/message-input.js";
import type { FollowOptions, SendOnceOptions, StreamOptions } from "./calls/call-options.js";
import type { Conversation, ConversationState } from "./follow/conversation.js";
import type { NotifiedTasks } from "./follow/notified.js";

/** A client of one agent, created by `connect`. Every method rejects with an A2AError, whichever binding it uses. */
export interface A2AClient extends Client<typeof A2AService> {
  /** The agent's card; after `extendedCard` the extended one. */
  readonly card: AgentCard;
  /** The interface of the card that the next call uses. */
  readonly interface: AgentInterface;
  /** Sends a message and waits for the answer (specification 3.1.1). */
  send(message: MessageInput, options?: SendOnceOptions): Promise<Answer>;
  /**
   * Sends a message and yields its results step by step, with the current task (specification 3.1.2). An interrupted
   * stream resumes automatically. Leaving the loop ends the call; the task continues.
   */
  stream(message: MessageInput, options?: StreamOptions): AsyncGenerator<Update, void, undefined>;
  /**
   * Follows an existing task (specification 3.1.6) until it is finished or waits for its client. If it already waits at
   * first, it is followed until it is answered: check its state, or set a `timeoutMs`.
   */
  follow(taskId: string, options?: FollowOptions): AsyncGenerator<Update, void, undefined>;
  /** Starts or restores a conversation. */
  conversation(state?: ConversationState): Conversation;
  /** Folds the notifications of a webhook (`parley-a2a/push-receiver`) into the updates that a stream would yield. */
  notified(): NotifiedTasks;
  /**
   * Fetches the card for authenticated callers, which replaces `card` until the client is closed (specification
   * 3.1.11): later calls use its interfaces and security schemes. Credentials are sent to no other hosts than before.
   *
   * @throws A2AError UNSUPPORTED_OPERATION if the public card does not declare one; INVALID_AGENT_RESPONSE if
   * `card.verify` rejects it
   */
  extendedCard(options?: { readonly signal?: AbortSignal }): Promise<AgentCard>;
  /** Closes all connections. Open calls fail, and new ones are rejected. */
  close(): Promise<void>;
}
