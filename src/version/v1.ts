import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonRpcOf } from "./jsonrpc.js";
import { restOf } from "./rest.js";
import type { NativeVersion } from "./version.js";

/** Version of the service and its cards: major and minor, without a patch number (specification 3.6). */
export const PROTOCOL_VERSION = "1.0";

/** A2A 1.0, derived from the contract. Separate, so that users of only the version's name do not load the codecs. */
export const v1: NativeVersion = {
  name: PROTOCOL_VERSION,
  jsonRpc: /* @__PURE__ */ jsonRpcOf(A2AService),
  rest: /* @__PURE__ */ restOf(A2AService),
  grpc: A2AService,
  connect: A2AService,
};
