import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { StreamResponse } from "../../../gen/a2a/v1/a2a_pb.js";
import { withHistoryOf } from "../json-exchange.js";
import type { OlderCalls, OlderMessages } from "../older-calls.js";
import { texts } from "./errors.js";
import { fromNative, methodPairs, toNative } from "./messages.js";

/** Returns the rpc for a method of the service. */
function rpcOf(desc: DescMethod): OlderMessages | undefined {
  const pair = methodPairs.find(({ native }) => native.localName === desc.localName);
  if (pair === undefined) return undefined;
  const { earlier } = pair;
  const up = toNative(earlier.output, desc.output);
  return {
    method: earlier,
    down: fromNative(desc.input, earlier.input),
    up: (answer, request) => (request === undefined ? up(answer) : withHistoryOf(request, up(answer))),
    isLast: earlier.methodKind === "server_streaming" ? saysFinal : () => false,
  };
}

function saysFinal(event: Message): boolean {
  const { payload } = event as StreamResponse;
  return payload.case === "statusUpdate" && payload.value.final;
}

/** The calls of A2A 0.3 over gRPC. */
export const calls: OlderCalls = { grpc: rpcOf, texts };
