import type { JsonValue, Message } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import type { Part, SendMessageRequest } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { SharedHold } from "../../core/call.js";
import { limitReached } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { withinHeap } from "../../core/limits.js";
import { addToCount } from "../../core/maps.js";
import { defined } from "../../core/members.js";
import { callerKeyOf } from "../caller-shares.js";
import type { ServiceInterceptor } from "../invoke.js";

/** Size below which a request is not counted, in bytes of memory. */
const SMALL_BYTES = 4 * 1024;

/** Size from which a request continues in the next round of the event loop, in bytes of memory. */
const HEAVY_BYTES = 512 * 1024;

/** Memory of the large requests in progress; one caller may use half. */
export const openRequests: { readonly maxBytes: number } = { maxBytes: withinHeap(1024 * 1024 * 1024, 4) };

/**
 * Limits the memory of the large requests in progress, in total and for each caller. A request counts until it is
 * answered, and a message until its execution has ended (`Call.held`).
 */
export function requestMemory(): ServiceInterceptor {
  const budget = new Budget(openRequests.maxBytes);
  return (next) => (invocation) => {
    const { request, call } = invocation;
    const bytes = requestBytes(request);
    if (bytes < SMALL_BYTES) return next(invocation);
    call.held = budget.hold(callerKeyOf(call), bytes);
    return bytes < HEAVY_BYTES ? next(invocation) : yieldToEventLoop().then(() => next(invocation));
  };
}

class Budget {
  readonly #max: number;
  readonly #callers = new Map<string, number>();
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws A2AError with reason TOO_MANY_REQUESTS */
  hold(caller: string | undefined, bytes: number): SharedHold {
    const max = this.#max;
    const own = caller === undefined ? 0 : (this.#callers.get(caller) ?? 0);
    // A request larger than the caller's share, or than the limit, is accepted if nothing else is held.
    const exceedsShare = own > 0 && own + bytes > max / 2;
    if (exceedsShare || (this.#bytes > 0 && this.#bytes + bytes > max)) {
      const whose = exceedsShare ? "The large requests of this caller" : "The large requests";
      throw limitReached("maxOpenRequestBytes", `${whose} in progress exceed the memory that they may take.`);
    }
    this.#add(caller, bytes);
    return new SharedHold(() => this.#add(caller, -bytes));
  }

  #add(caller: string | undefined, bytes: number): void {
    this.#bytes += bytes;
    if (caller !== undefined) addToCount(this.#callers, caller, bytes);
  }
}

/** Memory of a JSON value in addition to its text, in bytes. */
const VALUE_BYTES = 100;

/** Memory of a part in addition to its content, in bytes. */
const PART_BYTES = 3 * VALUE_BYTES;

/**
 * Estimates the memory of a request in bytes: its texts and files, and `VALUE_BYTES` for each value. Only requests with
 * a message or metadata can be large.
 */
function requestBytes(request: Message): number {
  const { message, metadata }: Message & Partial<Pick<SendMessageRequest, "message" | "metadata">> = request;
  const bytes = jsonBytes(metadata);
  if (message === undefined) return bytes;
  const { parts, referenceTaskIds, extensions } = message;
  return (
    bytes +
    jsonBytes(message.metadata) +
    parts.reduce((sum, part) => sum + partBytes(part), 0) +
    textsBytes(referenceTaskIds) +
    textsBytes(extensions)
  );
}

function partBytes({ content, metadata }: Part): number {
  const bytes = PART_BYTES + jsonBytes(metadata);
  if (content.case === undefined) return bytes;
  return bytes + (content.case === "data" ? valueBytes(content.value) : content.value.length);
}

function textsBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + VALUE_BYTES + text.length, 0);
}

function valueBytes({ kind }: Value): number {
  switch (kind.case) {
    case "stringValue":
      return VALUE_BYTES + kind.value.length;
    case "listValue":
      return kind.value.values.reduce((sum, value) => sum + valueBytes(value), VALUE_BYTES);
    case "structValue": {
      const { fields } = kind.value;
      let bytes = VALUE_BYTES;
      for (const name in fields) bytes += name.length + valueBytes(defined(fields[name]));
      return bytes;
    }
    default:
      return VALUE_BYTES;
  }
}

function jsonBytes(json: JsonValue | undefined): number {
  if (typeof json === "string") return VALUE_BYTES + json.length;
  if (typeof json !== "object" || json === null) return json === undefined ? 0 : VALUE_BYTES;
  if (Array.isArray(json)) return json.reduce<number>((sum, value) => sum + jsonBytes(value), VALUE_BYTES);
  let bytes = VALUE_BYTES;
  for (const name in json) bytes += name.length + jsonBytes(json[name]);
  return bytes;
}
