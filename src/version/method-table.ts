import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Route, routesOf } from "../wire/routes.js";

/** Method names in JSON-RPC requests. */
export interface NamedMethod {
  readonly name: string;
  readonly desc: DescMethod;
}

/** The client part of a version: the input of its dialects (`jsonrpc.ts`, `rest.ts`), without the server part. */
interface VersionCalls {
  readonly service: DescService;
  readonly jsonRpc: readonly NamedMethod[];
  readonly rest: readonly Route[];
}

/**
 * Returns the methods by their rpc names (specification 9). Methods with a stream of requests have no JSON-RPC form and
 * are left out.
 */
export function namedMethods(service: DescService): NamedMethod[] {
  return service.methods
    .filter(({ methodKind }) => methodKind === "unary" || methodKind === "server_streaming")
    .map((desc) => ({ name: desc.name, desc }));
}

/** The calls of A2A 1.0. */
export const v1Calls: VersionCalls = {
  service: A2AService,
  jsonRpc: namedMethods(A2AService),
  rest: routesOf(A2AService),
};
