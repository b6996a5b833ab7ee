import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonRpcOf } from "./jsonrpc.js";
import { PROTOCOL_VERSION } from "./protocol-version.js";
import { restOf } from "./rest.js";
import type { NativeVersion } from "./version.js";

export { PROTOCOL_VERSION };

/** A2A 1.0, derived from the contract. Separate, so that users of only the version's name do not load the codecs. */
export const v1: NativeVersion = {
  name: PROTOCOL_VERSION,
  jsonRpc: /* @__PURE__ */ jsonRpcOf(A2AService),
  rest: /* @__PURE__ */ restOf(A2AService),
  grpc: A2AService,
  connect: A2AService,
};
