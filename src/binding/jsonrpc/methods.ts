import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { jsonReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { isSideEffectFree } from "../../wire/side-effects.js";

/** A method with what reads its params and writes its results. */
export interface RpcMethod {
  readonly desc: DescMethod;
  readonly isStream: boolean;
  /** Whether it only reads. */
  readonly isRead: boolean;
  readonly read: (params: unknown) => Message;
  readonly write: (result: Message) => string;
}

/** The methods of a service by their names; those that take a stream of requests have no form in JSON-RPC. */
export function methodsOf(service: DescService): ReadonlyMap<string, RpcMethod> {
  const methods = new Map<string, RpcMethod>();
  for (const desc of service.methods) {
    if (desc.methodKind !== "unary" && desc.methodKind !== "server_streaming") continue;
    const readParams = jsonReader(desc.input);
    const isStream = desc.methodKind === "server_streaming";
    methods.set(desc.name, {
      desc,
      isStream,
      isRead: isSideEffectFree(desc),
      // Some clients leave params out, or send null, where they have nothing to say (specification 9.4.8).
      read: (params) => readParams(params ?? {}),
      write: jsonWriter(desc.output),
    });
  }
  return methods;
}
