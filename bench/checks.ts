/** A close look at one answer of each lane, in whatever binding it came. */
import { fromBinary, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { SendMessageResponseSchema as SendMessageResponse03 } from "../gen/a2a/v1/a2a_pb.js";
import { type SendMessageResponse, SendMessageResponseSchema, TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { RESULT_TEXT } from "./servers/answers.js";

/** Flags and length before a message of gRPC. */
const ENVELOPE_BYTES = 5;

/** The message in a body: JSON, with or without the envelope of JSON-RPC, or protobuf, with or without gRPC's envelope. */
function responseIn(body: Buffer): SendMessageResponse {
  if (body[0] !== "{".charCodeAt(0)) return fromBinary(SendMessageResponseSchema, messageIn(body));
  const json = JSON.parse(body.toString()) as JsonObject;
  return fromJson(SendMessageResponseSchema, json.result ?? json, { ignoreUnknownFields: true });
}

/** No field of a message has the number 0, so the flags of an envelope tell it from a bare message. */
function messageIn(body: Buffer): Buffer {
  return body[0] === 0 ? body.subarray(ENVELOPE_BYTES, ENVELOPE_BYTES + body.readUInt32BE(1)) : body;
}

/** @throws Error unless it is a direct message with exactly this text */
export function isReply(text: string): (body: Buffer) => void {
  return (body) => {
    const { payload } = responseIn(body);
    const content = payload.case === "message" ? payload.value.parts[0]?.content : undefined;
    if (content?.value !== text)
      throw new Error(`not the reply that was asked for: ${body.toString("latin1", 0, 300)}`);
  };
}

/** The same in A2A 0.3. @throws Error unless it is a direct message with exactly this text */
export function isReply03(text: string): (body: Buffer) => void {
  return (body) => {
    if (textIn03(body) !== text)
      throw new Error(`not the reply that was asked for: ${body.toString("latin1", 0, 300)}`);
  };
}

function textIn03(body: Buffer): unknown {
  if (body[0] !== "{".charCodeAt(0)) {
    const { payload } = fromBinary(SendMessageResponse03, messageIn(body));
    return payload.case === "msg" ? payload.value.content[0]?.part.value : undefined;
  }
  const { result, message } = JSON.parse(body.toString());
  const isKind = result === undefined || result.kind === "message";
  return isKind ? (result?.parts ?? message?.content)?.[0]?.text : undefined;
}

/** @throws Error unless it is a completed task with its artifact and the user's message in its history */
export function isCompletedTask(body: Buffer): void {
  const { payload } = responseIn(body);
  const task = payload.case === "task" ? payload.value : undefined;
  const isWhole =
    task?.status?.state === TaskState.COMPLETED &&
    task.artifacts[0]?.parts[0]?.content.value === RESULT_TEXT &&
    task.history.length > 0;
  if (!isWhole) throw new Error(`not a completed task: ${body.toString("latin1", 0, 300)}`);
}
