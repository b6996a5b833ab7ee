/** A close look at one answer of each lane, in whatever binding it came. */
import { fromBinary, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { type SendMessageResponse, SendMessageResponseSchema, TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { RESULT_TEXT } from "./servers/answers.js";

/** The message in a body: JSON, with or without the envelope of JSON-RPC, or gRPC's five bytes and protobuf. */
function responseIn(body: Buffer): SendMessageResponse {
  if (body[0] !== "{".charCodeAt(0)) return fromBinary(SendMessageResponseSchema, body.subarray(5));
  const json = JSON.parse(body.toString()) as JsonObject;
  return fromJson(SendMessageResponseSchema, json.result ?? json, { ignoreUnknownFields: true });
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
