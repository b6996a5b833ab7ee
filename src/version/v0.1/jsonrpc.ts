import type { DescMethod } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AError, Reason } from "../../core/error.js";
import { type JsonRpcDialect, type JsonRpcMethod, jsonRpcMethod } from "../jsonrpc.js";
import { v01Form } from "./json-form.js";
import { methods } from "./names.js";

/** Codes that have another meaning in 0.1, or none, with their replacements. */
const codes: Partial<Record<Reason, number>> = {
  INVALID_AGENT_RESPONSE: -32603,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32004,
  EXTENSION_SUPPORT_REQUIRED: -32004,
  VERSION_NOT_SUPPORTED: -32004,
};

/** The dialect of 0.1 over JSON-RPC, its only binding. */
export const jsonRpc: JsonRpcDialect = {
  methods: A2AService.methods.flatMap(methodsOf),
  error: (id, error) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      error: { code: codes[error.reason] ?? error.row.jsonrpc, message: olderMessage(error) },
    }),
  isLenient: true,
  hasNoBatches: true,
};

/** Names of fields and values that differ from 1.0. */
const places: readonly (readonly [RegExp, string])[] = [
  [/\bmessage\.taskId\b/g, "id"],
  [/\bmessage\.contextId\b/g, "sessionId"],
  [/\bconfiguration\.taskPushNotificationConfig\b/g, "pushNotification"],
  [/\bconfiguration\.historyLength\b/g, "historyLength"],
  [/\bROLE_USER\b/g, "user"],
];

function olderMessage({ message }: A2AError): string {
  return places.reduce((text, [path, name]) => text.replace(path, name), message);
}

function methodsOf(desc: DescMethod): JsonRpcMethod[] {
  const name = Object.entries(methods).find(([, rpc]) => rpc === desc.name)?.[0];
  if (name === undefined) return [];
  return [{ ...jsonRpcMethod({ name, desc }, v01Form), errsAsEvent: true }];
}
