import { fromBinary } from "@bufbuild/protobuf";
import {
  SendMessageResponseSchema,
  type TaskState as State,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Binding } from "../../../client/discovery/interfaces.js";
import { errorOfBody, errorOfHead, errorOfRpc, isSuccess } from "../../../client/errors/answer-errors.js";
import type { HttpAnswer } from "../../../client/platform.js";
import { errorInConnect, errorInTrailers } from "../../../client/transport/wire-errors.js";
import { Gathered } from "../../../core/bytes.js";
import { A2AError } from "../../../core/error.js";
import { isRecord, membersOf } from "../../../core/members.js";
import { endsBlockingSend } from "../../../task/state.js";
import { Envelopes } from "../../../wire/envelopes.js";
import { essenceOf } from "../../../wire/media-type.js";
import { parsedJson } from "../../../wire/parsed-json.js";
import type { Operation } from "./options.js";

export interface Outcome {
  /** Kind of the error; undefined for a success. */
  readonly fault?: string | undefined;
  readonly bytes: number;
  /** Events of a stream; 0 for other answers. */
  readonly events: number;
  /** `performance.now()` of the first event. */
  readonly firstAt?: number | undefined;
}

/** Reads an answer to its end, and checks it. */
export type ReadOutcome = (answer: HttpAnswer) => Promise<Outcome>;

/** Maximum size of an answer, or of an incomplete event, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Larger answers are not parsed, because that would cost more than serving them, in bytes. Errors are smaller. */
const MAX_PARSED = 16 * 1024;

/** Returns the reader of the answers to an operation. */
export function outcomesOf(binding: Binding, operation: Operation): ReadOutcome {
  if (operation === "stream") return binding === "JSONRPC" || binding === "HTTP+JSON" ? eventStream : framed(operation);
  if (binding === "GRPC" || binding === "GRPC-WEB") return framed(operation);
  const check = binding === "CONNECT" ? connectFault : jsonFault;
  return async (answer) => {
    const body = new Gathered();
    await answer.read((chunk) => {
      body.push(chunk);
      if (body.size > MAX_BYTES) throw tooLarge();
    });
    return { fault: check(answer, body.bytes, operation), bytes: body.size, events: 0 };
  };
}

/** Returns the kind of anything that a call threw. */
export function kindOf(error: unknown): string {
  const { code } = membersOf(membersOf(error).cause);
  const reason = error instanceof A2AError ? error.reason : "INVALID_AGENT_RESPONSE";
  return typeof code === "string" && /^[A-Z0-9_]{1,40}$/.test(code) ? `${reason} (${code})` : reason;
}

const tooLarge = (): Error => new A2AError("INVALID_AGENT_RESPONSE", `An answer has more than ${MAX_BYTES} bytes.`);

const CUT = "CUT_OFF";
const UNREADABLE = "INVALID_AGENT_RESPONSE";

/** A task that failed is an error of the agent. A read of one succeeds. */
function stateFault(state: State, operation: Operation): string | undefined {
  const hasFailed = state === TaskState.FAILED || state === TaskState.REJECTED;
  return hasFailed && operation !== "get" ? `TASK_${TaskState[state]}` : undefined;
}

/** Checks a whole answer of JSON-RPC or HTTP+JSON. */
function jsonFault(answer: HttpAnswer, body: Uint8Array, operation: Operation): string | undefined {
  if (body.byteLength > MAX_PARSED && isSuccess(answer.status)) return undefined;
  return jsonTextFault(answer, decodeBytes(body), (json) => stateFault(stateIn(json), operation));
}

/** @param judge checks the answer of the operation */
function jsonTextFault(
  answer: HttpAnswer,
  text: string,
  judge: (json: Readonly<Record<string, unknown>>) => string | undefined,
): string | undefined {
  const json = parsed(text);
  if (json === undefined) return errorOfHead(answer, text).reason;
  const { error, result, jsonrpc } = json;
  if (!isSuccess(answer.status) || (error !== undefined && error !== null)) {
    const ofRpc = jsonrpc === undefined ? undefined : errorOfRpc(error, answer);
    return (ofRpc ?? errorOfBody(json, answer) ?? errorOfHead(answer, text)).reason;
  }
  const value = jsonrpc === undefined ? json : membersOf(result);
  return Object.keys(value).length === 0 ? UNREADABLE : judge(value);
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  const json = parsedJson(text);
  return isRecord(json) ? json : undefined;
}

/** Returns the state in a task, or in a choice of a send or a stream; COMPLETED for a message. */
function stateIn(json: Readonly<Record<string, unknown>>): State {
  if (json.message !== undefined) return TaskState.COMPLETED;
  const { status } = membersOf(json.task ?? json.statusUpdate ?? json);
  const name = String(membersOf(status).state).replace("TASK_STATE_", "");
  return TaskState[name as keyof typeof TaskState] ?? TaskState.UNSPECIFIED;
}

function connectFault(answer: HttpAnswer, body: Uint8Array, operation: Operation): string | undefined {
  if (!isSuccess(answer.status) || essenceOf(answer.contentType) !== "application/proto") {
    const text = decodeBytes(body);
    return (errorInConnect(parsed(text), answer.headers) ?? errorOfHead(answer, text)).reason;
  }
  return messageFault(body, operation);
}

/** Checks the message of an answer in binary, the last one of a stream. */
function messageFault(bytes: Uint8Array, operation: Operation): string | undefined {
  if (bytes.byteLength > MAX_PARSED) return undefined;
  try {
    const state = messageState(bytes, operation);
    if (state === undefined) return UNREADABLE;
    if (operation === "stream" && !endsBlockingSend(state)) return CUT;
    return stateFault(state, operation);
  } catch {
    return UNREADABLE;
  }
}

function messageState(bytes: Uint8Array, operation: Operation): State | undefined {
  if (operation === "get") return fromBinary(TaskSchema, bytes).status?.state;
  const { payload } = fromBinary(operation === "send" ? SendMessageResponseSchema : StreamResponseSchema, bytes);
  if (payload.case === undefined) return undefined;
  if (payload.case === "message") return TaskState.COMPLETED;
  return (payload.case === "artifactUpdate" ? undefined : payload.value.status?.state) ?? TaskState.UNSPECIFIED;
}

/** Flags of the envelope that ends an answer: of Connect and of gRPC-Web. */
const END_STREAM = 0x02;
const TRAILERS = 0x80;

/** Reads answers in envelopes: those of gRPC and gRPC-Web, and streams of Connect. */
function framed(operation: Operation): ReadOutcome {
  return async (answer) => {
    const envelopes = new Envelopes((_, size) => {
      if (size > MAX_BYTES) throw tooLarge();
    });
    let [bytes, events, firstAt, last, end]: [number, number, number | undefined, Uint8Array?, string?] = [
      ...([0, 0] as const),
      undefined,
    ];
    await answer.read((chunk) => {
      bytes += chunk.byteLength;
      envelopes.push(chunk);
      for (let next = envelopes.take(); next !== undefined; next = envelopes.take()) {
        if ((next.flags & (END_STREAM | TRAILERS)) !== 0) end = decodeBytes(next.data);
        else {
          events++;
          firstAt ??= performance.now();
          last = next.data;
        }
      }
    });
    const fault = endFault(answer, end) ?? (last === undefined ? UNREADABLE : messageFault(last, operation));
    return { fault, bytes, ...(operation === "stream" ? { events, firstAt } : { events: 0 }) };
  };
}

/** Checks the status at the end of such an answer. @param end text of its envelope */
function endFault(answer: HttpAnswer, end: string | undefined): string | undefined {
  if (answer.field?.("trailers", "grpc-status") === "0") return undefined;
  if (!isSuccess(answer.status)) return errorOfHead(answer).reason;
  if (end?.trimStart().startsWith("{") === true) {
    const { error } = membersOf(parsed(end));
    return error === undefined ? undefined : (errorInConnect(error, answer.headers)?.reason ?? UNREADABLE);
  }
  const trailers = end === undefined ? (answer.trailers ?? answer.headers) : new Headers(linesOf(end));
  const all = trailers.has("grpc-status") ? trailers : answer.headers;
  return all.has("grpc-status") ? errorInTrailers(all, answer.headers)?.reason : CUT;
}

function linesOf(trailers: string): [name: string, value: string][] {
  return trailers.split(/\r?\n/).flatMap((line) => {
    const [, name = "", value = ""] = /^([!-9;-~]+):\s*([ -~]*)$/.exec(line) ?? [];
    return name === "" ? [] : [[name, value.trim()] satisfies [string, string]];
  });
}

/** Reads a stream of JSON-RPC or HTTP+JSON: one event in each `data` line. */
async function eventStream(answer: HttpAnswer): Promise<Outcome> {
  let [bytes, events, rest, last]: [number, number, string, string] = [0, 0, "", ""];
  let firstAt: number | undefined;
  const isStream = essenceOf(answer.contentType) === "text/event-stream";
  await answer.read((chunk) => {
    bytes += chunk.byteLength;
    // Bytes are decoded when an event is parsed, since a chunk may end within a character.
    const lines = (rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_BYTES) throw tooLarge();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      events++;
      firstAt ??= performance.now();
      last = line;
    }
  });
  const text = Buffer.from(isStream ? last.slice("data:".length) : rest, "latin1").toString();
  if (isStream && text === "") return { fault: CUT, bytes, events };
  const fault = jsonTextFault(answer, text, (json) => {
    const state = stateIn(json);
    return endsBlockingSend(state) ? stateFault(state, "stream") : CUT;
  });
  return { fault: fault ?? (isStream ? undefined : UNREADABLE), bytes, events, firstAt };
}

function decodeBytes({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
