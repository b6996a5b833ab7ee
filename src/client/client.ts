import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard, AgentInterface } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { FollowOptions, SendOnceOptions, StreamOptions } from "./calls/call-options.js";
import type { MessageInput } from "./calls/message-input.js";
import type { Conversation, ConversationState } from "./follow/conversation.js";
import type { NotifiedTasks } from "./follow/notified.js";
import type { Answer } from "./follow/send.js";
import type { Update } from "./follow/update.js";

/** A client of one agent. Made by `connect`. Every method rejects with an A2AError, whatever the binding is. */
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
