import type { SendMessageRequest, SendMessageResponse } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../../core/ids.js";
import { IDEMPOTENCY_KEY } from "../../wire/service-params.js";
import { clientError, isArrivalUnknown, unknownArrival } from "../errors/errors.js";
import { type GivenHeaders, ownHeader } from "../transport/request-headers.js";
import { ofSkill, type SendOptions } from "./call-options.js";
import type { CallScope } from "./call-scope.js";
import type { ClientCore } from "./core.js";

/** Returns the idempotency key of a send: the caller's, or a new one if the agent declares support. */
export function idempotencyKeyOf(core: ClientCore, { idempotencyKey }: SendOptions): string | undefined {
  return idempotencyKey ?? (core.idempotent ? newId() : undefined);
}

/**
 * Sends a message in a call with one answer.
 * @param scope undefined for a call that its caller cannot end
 * @param key the idempotency key of the send
 * @throws A2AError that says so if the message may have arrived
 */
export async function sendOnce(
  core: ClientCore,
  request: SendMessageRequest,
  options: SendOptions,
  scope: CallScope | undefined,
  key: string | undefined,
): Promise<SendMessageResponse> {
  const headers = key === undefined ? options.headers : withKey(options, key);
  scope?.check();
  try {
    return await core.rpc.sendMessage(request, {
      ...(scope !== undefined && { signal: scope.signal }),
      ...(headers !== undefined && { headers }),
      // A timeout of the caller, which `scope` enforces, replaces `sendTimeoutMs` and is sent to the agent.
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      ...ofSkill(options.skill),
    });
  } catch (error) {
    if (scope?.aborted !== true) throw error;
    const over = scope.failure();
    const hasLeft = over.reason === "DEADLINE_EXCEEDED" || isArrivalUnknown(clientError(error));
    throw hasLeft ? unknownArrival(over, { key, isRepeatable: core.idempotent }) : over;
  }
}

function withKey({ headers: given, idempotencyKey }: SendOptions, key: string): GivenHeaders {
  if (given === undefined && idempotencyKey === undefined) return ownHeader(IDEMPOTENCY_KEY, key);
  const headers = new Headers(given);
  headers.set(IDEMPOTENCY_KEY, key);
  return headers;
}
