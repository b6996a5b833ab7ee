import type { Message } from "@bufbuild/protobuf";
import { background, LazyAbortController } from "../core/async.js";
import type { Call } from "../core/call.js";
import type { StreamSteps } from "../core/map-stream.js";
import { toCallerError } from "../engine/log/outage.js";
import { credentialsCheck, type OperatorAccess } from "./access.js";
import type { Role } from "./methods.js";

/**
 * The steps of an operator's stream, which ends when its credentials are refused: the operation sees this as the
 * client's departure. Failures of the store become the errors that callers of the protocol get.
 */
export class CheckedStream extends LazyAbortController implements StreamSteps<Message, Message> {
  readonly #timer: NodeJS.Timeout | undefined;
  #refusal: { readonly error: unknown } | undefined;

  /** Replaces the call's cancellation, so the operation must not have read it yet. */
  constructor(access: OperatorAccess, call: Call, role: Role) {
    super();
    call.cancellation.onCancel(() => this.cancel());
    call.cancellation = this;
    if (access.recheck === undefined) return;
    const check = (): void => void access.recheck?.(call, role).catch(this.#refuse);
    this.#timer = background(setInterval(check, credentialsCheck.everyMs));
  }

  item(message: Message): Message {
    this.done();
    return message;
  }

  done(): void {
    if (this.#refusal !== undefined) throw this.#refusal.error;
  }

  failed(error: unknown): unknown {
    return this.#refusal === undefined ? toCallerError(error) : this.#refusal.error;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  readonly #refuse = (error: unknown): void => {
    this.#refusal ??= { error };
    this.cancel();
  };
}
