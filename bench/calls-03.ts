/** The same calls by callers of A2A 0.3, which send no version. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Role, SendMessageRequestSchema } from "../gen/a2a/v1/a2a_pb.js";
import { type Called, framed, http1, json } from "./calls.js";
import { NUMBER, type WireCall } from "./protocol.js";

const UNVERSIONED = { "a2a-version": undefined };

/** `message/send` over JSON-RPC. */
export function rpcSend03({ at }: Called, text: string, expect: string): WireCall {
  const message = { kind: "message", messageId: `message-${NUMBER}`, role: "user", parts: [{ kind: "text", text }] };
  const body = json({ jsonrpc: "2.0", id: 1, method: "message/send", params: { message } });
  const headers = { ...UNVERSIONED, "content-type": "application/json", accept: "application/json" };
  return http1(at.http, "POST", at.rpcPath ?? "/", headers, body, { expect });
}

/** SendMessage over HTTP+JSON, in the dialect of the contract. */
export function restSend03({ at }: Called, text: string, expect: string): WireCall {
  const message = { messageId: `message-${NUMBER}`, role: "ROLE_USER", content: [{ text }] };
  const headers = { ...UNVERSIONED, "content-type": "application/json" };
  return http1(at.http, "POST", `${at.restPath}/v1/message:send`, headers, json({ message }), { expect });
}

/** SendMessage over gRPC. */
export function grpcSend03({ at }: Called, text: string, expect: string): WireCall {
  const request: MessageInitShape<typeof SendMessageRequestSchema> = {
    request: { messageId: `message-${NUMBER}`, role: Role.USER, content: [{ part: { case: "text", value: text } }] },
  };
  const body = framed(SendMessageRequestSchema, create(SendMessageRequestSchema, request)).toString("base64");
  const headers: [string, string][] = [
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ["user-agent", "bench"],
  ];
  return { transport: "http2", port: at.grpc ?? 0, path: "/a2a.v1.A2AService/SendMessage", headers, body, expect };
}
