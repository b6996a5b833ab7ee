import { jsonRpcOf } from "../jsonrpc.js";
import { restOf } from "../rest.js";
import type { LoadedVersion } from "../version.js";
import { service } from "./contract.js";
import { translate } from "./translate.js";

/** The dialects of 1.1. */
export const loaded: LoadedVersion = {
  jsonRpc: jsonRpcOf(service),
  rest: restOf(service),
  translate,
  service: { service, translate },
};
