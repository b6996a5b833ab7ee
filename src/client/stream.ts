import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { FollowOptions, StreamOptions } from "./call-options.js";
import { checkCall, followRules, streamRules } from "./check-call.js";
import type { ClientCore } from "./core.js";
import { Following } from "./following.js";
import { type MessageInput, type MessagePlace, messageOf, requestOf } from "./message-input.js";
import type { Update } from "./update.js";

/** Where a message belongs, and what its sender knows of its task already: that is no news. */
export interface StreamPlace extends MessagePlace {
  readonly known?: Task | undefined;
}

/**
 * Sends a message and follows what becomes of it, until the task is over or waits for its client (specification 3.1.2). A stream that
 * is cut is gone on with. Leaving the loop ends the call; the task goes on.
 * @throws A2AError; UNAVAILABLE with `arrival: "unknown"` in its metadata where the message may have arrived and may not be sent again
 */
export function stream(
  core: ClientCore,
  input: MessageInput,
  options: StreamOptions = {},
  { known, ...place }: StreamPlace = {},
): AsyncGenerator<Update, void, undefined> {
  checkCall(options, streamRules);
  const message = messageOf(input, place);
  // Without a stream the task is looked at again and again; one that is there already would be seen as it was before.
  const request = requestOf(message, options, !core.canStream && message.taskId === "");
  return new Following(core, options, { request, known }).updates();
}

/**
 * Follows a task that is there, from its present state on, until it is over or a turn of it ends (specification 3.1.6). A task that is
 * over already is one update.
 * @throws A2AError
 */
export function follow(
  core: ClientCore,
  taskId: string,
  options: FollowOptions = {},
  known?: Task,
): AsyncGenerator<Update, void, undefined> {
  checkCall(options, followRules);
  return new Following(core, options, { taskId, known }).updates();
}
